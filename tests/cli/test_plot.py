# SPDX-License-Identifier: Apache-2.0
"""plot: its numbers are those of plan and inspect, what theory expects of blocks is what blocks have, and
drawings are what the locale, the terminal and XML demand."""

import fcntl
import json
import math
import os
import re
import struct
import termios
import xml.etree.ElementTree as ET

from runner import case, everything_from, has, main, open_terminal

TRY = "try 'bloomery plot --help'\n"
SVG = "{http://www.w3.org/2000/svg}"
ASCII = {"LC_ALL": "C", "COLUMNS": "72"}
UTF8 = {"LC_ALL": "C.UTF-8", "COLUMNS": "72"}


def report(c, line):
    """The JSON of a command."""
    return json.loads(c.run(line, stdout=None)[0])


def keys(count, first=0):
    return "".join(f"key {i}\n" for i in range(first, first + count))


def near(one, other, part=1e-12):
    return abs(one - other) <= part * abs(other)


def rate_of(c, shape, count):
    """What plan says of a shape (bytes, blocks, probes) with `count` keys."""
    blocks = shape["blocks_per_key"]
    line = f"plan --json -n {count} --kind {shape['kind']} --probes {shape['probes']}"
    line += f" --blocks {blocks}" if blocks > 0 else ""
    # Bytes per key are rounded up to whole blocks.
    for memory in (shape["bytes"] - 32,) if blocks > 0 else (shape["bytes"], shape["bytes"] - 1):
        plan = report(c, f"{line} --memory {memory}")["plans"][0]
        if plan["bytes"] == shape["bytes"]:
            break
    c.expect(plan["bytes"] == shape["bytes"], f"{line}: {plan}")
    return plan["rate"]


@case
def points_of_a_plan_are_the_rates_of_plan(c):
    for line in ("-n 1M -p 0.01", "-n 100k -p 1e-6", "-n 50k --memory 100kB", "-p 0.001 --memory 1MiB",
                 "-n 1M -p 0.01 --kind classic", "-n 1M -p 0.01 --kind counting", "-n 3000",
                 "-n 100k -p 1e-4 --blocks 3 --folds 2", "-n 1M -p 0.01 --probes 5"):
        curve = report(c, f"plot --json {line}")
        plans = report(c, f"plan --json {line}")["plans"]
        plan = next(plan for plan in plans if plan["kind"] == curve["kind"] and
                    plan["blocks_per_key"] == curve["blocks_per_key"])
        for name in ("probes", "bits", "bytes"):
            c.expect(curve[name] == plan[name], f"{line}: {name} {curve[name]}, not {plan[name]}")
        c.expect((curve["planned_keys"], curve["planned_rate"]) == (plan["keys"], plan["rate"]),
                 f"{line}: another plan")
        points = {point["keys"]: point["rate"] for point in curve["points"]}
        c.expect(len(points) == 128 and max(points) == 2 * plan["keys"], f"{line}: {sorted(points)}")
        c.expect(near(points[plan["keys"]], plan["rate"], 1e-9), f"{line}: the rate at the planned keys")
        if curve["kind"] == "counting":
            continue
        for count in sorted(points)[40::29]:
            wanted = rate_of(c, curve, count)
            c.expect(near(points[count], wanted), f"{line}, {count} keys: {points[count]}, not {wanted}")
        rates = [point["rate"] for point in curve["points"]]
        c.expect(rates == sorted(rates), f"{line}: the rate falls")


@case
def curve_of_a_filter_goes_through_what_inspect_says(c):
    c.file("keys", keys(3000))
    for line, named in (("-n 5k -p 0.01", ""), ("-n 5k -p 1e-6", ""), ("-n 5k --kind classic", ""),
                        ("-n 5k --kind counting", ""), ("-n 1k -p 0.01", ""),
                        ("-n 5k -p 0.01 --dialect guava", "--dialect guava"),
                        ("-n 5k -p 0.01 --dialect parquet", "--dialect parquet"),
                        ("-n 5k -p 0.01 --dialect dcso", "--dialect dcso")):
        c.run(f"build -q --force {line} -o f keys", stderr=None)
        facts = report(c, f"inspect --json {named} f")
        curve = report(c, f"plot --json {named} f --to {round(facts['estimated_keys'])}")
        c.expect(curve["now"] == {"keys": facts["estimated_keys"], "predicted_rate": facts["predicted_rate"],
                                  "live_rate": facts["live_rate"]}, f"{line}: {curve['now']}")
        for name in ("kind", "probes", "bits", "bytes", "planned_keys", "planned_rate"):
            c.expect(curve[name] == facts[name], f"{line}: {name} {curve[name]}, not {facts[name]}")
        c.expect(curve["points"][-1] == {"keys": round(facts["estimated_keys"]),
                                         "rate": facts["predicted_rate"]}, f"{line}: {curve['points'][-1]}")
        whole = report(c, f"plot --json {named} f")["points"][-1]["keys"]
        c.expect(whole >= facts["estimated_keys"], f"{line}: the curve ends at {whole}, before what is now")
        c.run(f"plot {named} f", environment=ASCII, stdout=has("False-positive rate", "O now: about "))


@case
def rate_of_a_chain_is_that_of_all_its_layers(c):
    line = "-n 2000 -p 0.01 --kind scalable"
    layers = report(c, f"plan --json {line} --grow-to 10000")["layers"]
    first, second = layers[0], layers[1]
    for layer in layers:
        layer["kind"] = "blocked"
    both = first["keys"] + second["keys"]
    for count in (first["keys"] // 2, first["keys"], first["keys"] + second["keys"] // 2, both):
        point = report(c, f"plot --json {line} --to {count}")["points"][-1]
        none = 1 - rate_of(c, first, min(count, first["keys"]))
        if count > first["keys"]:
            none *= 1 - rate_of(c, second, count - first["keys"])
        c.expect(point["keys"] == count and near(point["rate"], 1 - none, 1e-9), f"{point}, not {1 - none}")
    curve = report(c, f"plot --json {line} --to 1M")
    c.expect(max(point["rate"] for point in curve["points"]) < 0.01, "a chain has more than its rate")

    c.run("build -q -n 2000 -p 0.01 --kind scalable -o chain", stdin=keys(9000))
    facts = report(c, "inspect --json chain")
    c.expect(facts["layers"] == 3, f"{facts['layers']} layers")
    curve = report(c, f"plot --json chain --to {round(facts['estimated_keys'])}")
    c.expect(curve["now"]["predicted_rate"] == facts["predicted_rate"], "another rate now")
    # Its layers have a few keys more than they are planned for.
    c.expect(near(curve["points"][-1]["rate"], facts["predicted_rate"], 0.1),
             f"{curve['points'][-1]} and {facts['predicted_rate']}")


def payload(c, name):
    """The cells of a Bloomery file (docs/format.md)."""
    data = c.read(name)
    offset, length = struct.unpack_from("<QQ", data, 24)
    return data[offset:offset + length]


@case
def fill_counts_each_block_of_the_file(c):
    c.file("keys", keys(4000))
    for line, cell in (("-n 5k -p 0.01", 1), ("-n 5k -p 1e-9", 1), ("-n 5k --kind counting", 4),
                       ("-n 5k --kind counting --counter-bits 8", 8),
                       ("-n 1000 -p 0.01 --kind scalable", 1)):
        c.run(f"build -q --force {line} -o f keys")
        fill = report(c, "plot --fill --json f")
        counted = {}
        cells = payload(c, "f")
        for at in range(0, len(cells), 64 * cell):
            block = int.from_bytes(cells[at:at + 64 * cell], "little")
            bits = f"{block:0{512 * cell}b}"
            used = sum("1" in bits[i:i + cell] for i in range(0, len(bits), cell))
            counted[used] = counted.get(used, 0) + 1
        got = {row["cells_set"]: row["blocks"] for row in fill["fill"] if row["blocks"] > 0}
        c.expect(got == counted, f"{line}: {got}, not {counted}")
        facts = report(c, "inspect --json f")
        c.expect(sum(bits * blocks for bits, blocks in got.items()) == facts["bits_set"], "bits set")
        c.expect(fill["blocks"] == facts["bits"] // 512 and fill["estimated_keys"] == facts["estimated_keys"],
                 f"{line}: {fill['blocks']} blocks, {fill['estimated_keys']} keys")
        expected = sum(row["expected"] for row in fill["fill"])
        c.expect(near(expected, fill["blocks"], 1e-3), f"{line}: {expected} blocks are expected")


def words_after(picks):
    """How many of 64 bits of a word are set after `picks` picks of it, as chances."""
    chances = [1.0] + [0.0] * 64
    for _ in range(picks):
        chances = [chances[x] * x / 64 + (chances[x - 1] * (65 - x) / 64 if x else 0) for x in range(65)]
    return chances


def convolve(one, other):
    result = [0.0] * (len(one) + len(other) - 1)
    for i, left in enumerate(one):
        if left > 1e-14:
            for j, right in enumerate(other):
                result[i + j] += left * right
    return result


@case
def expected_fill_is_that_of_eight_words_exactly(c):
    """With eight bits each key sets one in every word, and the words are independent: a block of j keys has
    the eightfold sum of what j throws leave in 64 cells, and j is binomial."""
    c.run("build -q -n 300 -p 0.003 --blocks 1 -o f", stdin=keys(300))
    fill = report(c, "plot --fill --json f")
    blocks = fill["blocks"]
    c.expect((fill["probes"], fill["blocks_per_key"]) == (8, 1) and blocks > 5, f"{fill}")
    picks = round(fill["estimated_keys"])
    exact = [0.0] * 513
    for load in range(picks + 1):
        weight = math.comb(picks, load) * (blocks - 1) ** (picks - load) / blocks ** picks
        if weight < 1e-9:
            continue
        law = words_after(load)
        for _ in range(3):
            law = convolve(law, law)
        exact = [sum_so_far + blocks * weight * chance for sum_so_far, chance in zip(exact, law)]
    off = sum(abs(row["expected"] - exact[row["cells_set"]]) for row in fill["fill"])
    c.expect(off < 0.01 * blocks, f"{off} of {blocks} blocks are expected elsewhere")
    mean = sum(x * share for x, share in enumerate(exact)) / blocks
    deviation = math.sqrt(sum((x - mean) ** 2 * share for x, share in enumerate(exact)) / blocks)
    c.expect(near(fill["expected"]["mean"], mean, 1e-6), f"mean {fill['expected']}, not {mean}")
    c.expect(near(fill["expected"]["deviation"], deviation, 2e-3), f"{fill['expected']}, not {deviation}")


@case
def blocks_are_filled_as_expected(c):
    """The counts of blocks in ranges, against what is expected: chi-squared. Of as many ranges the sum has the
    mean r and the variance 2r; a chance below 1e-6 fails, and the keys are always the same."""
    c.file("keys", keys(100_000))
    for line in ("-n 100k -p 0.01", "-n 100k -p 1e-6 --blocks 2", "-n 100k -p 0.01 --blocks 3",
                 "-n 100k -p 0.1", "-n 100k -p 0.01 --kind counting"):
        c.run(f"build -q --force {line} -o f keys")
        fill = report(c, "plot --fill --json f")
        c.expect(near(fill["measured"]["mean"], fill["expected"]["mean"], 1e-4), f"{line}: the means")
        c.expect(near(fill["measured"]["deviation"], fill["expected"]["deviation"], 0.04), f"{line}: {fill}")
        ranges, blocks, expected = [], 0, 0.0
        for row in fill["fill"]:
            blocks, expected = blocks + row["blocks"], expected + row["expected"]
            if expected > 50:
                ranges.append((blocks, expected))
                blocks, expected = 0, 0.0
        square = sum((got - wanted) ** 2 / wanted for got, wanted in ranges)
        most = len(ranges) + 6 * math.sqrt(2 * len(ranges))
        c.expect(len(ranges) > 15 and square < most, f"{line}: {square} in {len(ranges)} ranges")


@case
def drawing_is_exact(c):
    c.run("plot -n 1M -p 0.01", environment={**ASCII, "COLUMNS": "56"}, stdout="""\
False-positive rate over the number of keys: blocked filter, 1.20 MiB

       1 +
         |
         |
         |                                       ....:''
     0.1 +                                  ..:'''
         |                             ..:''
         |                          .:''
         |                       .:'
    0.01 +--------------------.:'+
         |                  .:'  |
         |                .:'    |
   0.001 +               :'      |
         |             .'        |
         |            :'         |
         |           :           |
  0.0001 +          :            |
         ++----------------------+---------------------+
          0                     1 M                  2 M
          rate (logarithmic) over keys

+ planned: 1,000,000 keys at a rate of 0.00999 (1 in 100)
""")
    c.run("build -q -n 20 -p 0.1 --kind counting --blocks 1 -o f", stdin=keys(20))
    c.run("plot --fill f", environment={**ASCII, "COLUMNS": "50"}, stdout="""\
Fill by block: f, counting filter, 1 block of 512 counters

   in use        blocks      expected
      127             0           0.0
      128             0           0.0
      129             0           0.0
      130             0           0.0
      131             0           0.0
      132             0           0.0
      133             0           0.0
      134             0           0.1 |
      135             0           0.1 |
      136             0           0.1 |
      137             0           0.1 |
      138             1           0.1 |##########
      139             0           0.1 |
      140             0           0.1 |
      141             0           0.1 |
      142             0           0.1 |
      143             0           0.1 |
      144             0           0.0
      145             0           0.0
      146             0           0.0
      147             0           0.0
      148             0           0.0
      149             0           0.0

# measured: mean 138.0, standard deviation 0.0
| expected: mean 138.3, standard deviation 3.8
""")


@case
def locale_chooses_braille_or_ascii(c):
    c.run("build -q -n 2000 -p 0.01 -o f", stdin=keys(2000))
    for line in ("plot f", "plot --fill f"):
        ascii_text = c.run(line, environment=ASCII, stdout=None)[0].decode("ascii")
        text = c.run(line, environment=UTF8, stdout=None)[0].decode()
        c.expect(re.search("[\u2801-\u28ff]", text), f"{line}: no braille")
        c.expect(len(text.splitlines()) == len(ascii_text.splitlines()), f"{line}: other lines")
        numbers = [re.findall(r"[0-9.,]+", drawn) for drawn in (text, ascii_text)]
        c.expect(numbers[0][-4:] == numbers[1][-4:], f"{line}: other numbers")
        for names, utf8 in (({"LC_ALL": "de_DE.utf8"}, True), ({"LC_ALL": "C", "LANG": "C.UTF-8"}, False),
                            ({"LC_CTYPE": "en_US.UTF-8", "LANG": "C"}, True),
                            ({"LC_CTYPE": "en_US.ISO-8859-1", "LANG": "C.UTF-8"}, False),
                            ({"LANG": "C.UTF-8"}, True), ({"LANG": "C"}, False), ({}, False)):
            wanted = {**{"LC_ALL": "", "LC_CTYPE": "", "LANG": "", "COLUMNS": "72"}, **names}
            c.run(line, environment=wanted, stdout=text if utf8 else ascii_text)


@case
def drawing_is_as_wide_as_the_terminal(c):
    c.run("build -q -n 2000 -p 0.01 -o f", stdin=keys(2000))
    for columns, width in (("100", 100), ("", 80), ("none", 80), ("7", 40), ("99999999999", 200)):
        for line in ("plot f", "plot --fill f"):
            for locale in ("C", "C.UTF-8"):
                text = c.run(line, environment={"LC_ALL": locale, "COLUMNS": columns}, stdout=None)[0].decode()
                widest = max(len(row) for row in text.splitlines()[2:-3])
                c.expect(width - 2 <= widest <= max(width, 41), f"{line}, '{columns}': {widest} columns")
    ours, theirs = open_terminal()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = c.start("plot f", stdout=theirs, env={**environment, "LC_ALL": "C"})
    os.close(theirs)
    process.communicate()
    rows = everything_from(ours).decode().splitlines()
    os.close(ours)
    c.expect(max(map(len, rows[2:-3])) == 120, f"{max(map(len, rows))} columns in a terminal of 120")


def parse(c, name):
    """The root of an SVG, which needs nothing from elsewhere."""
    text = c.read(name).decode()
    root = ET.fromstring(text)
    c.expect(root.tag == SVG + "svg", f"{name}: {root.tag}")
    c.expect("href" not in text and "url(" not in text and "<script" not in text, f"{name} needs more files")
    c.expect("prefers-color-scheme: dark" in root.find(SVG + "style").text, f"{name} is for light pages only")
    ids = {element.get("id"): element.text for element in root if element.get("id")}
    c.expect(root.get("role") == "img" and root.get("aria-labelledby").split() == ["title", "desc"] and
             list(ids) == ["title", "desc"] and all(ids.values()), f"{name}: {ids}")
    width, height = float(root.get("width")), float(root.get("height"))
    for path in root.iter(SVG + "path"):
        numbers = [float(number) for number in re.findall(r"-?[0-9.]+", path.get("d"))]
        c.expect(all(0 <= x <= width for x in numbers[::2]) and all(0 <= y <= height for y in numbers[1::2]),
                 f"{name}: {path.get('d')} leaves the drawing")
    return root


def texts(root):
    return [element.text for element in root.iter(SVG + "text")]


@case
def svg_is_xml_with_title_and_description(c):
    c.run("build -q -n 2000 -p 0.01 -o f", stdin=keys(1500))
    c.run("plot -n 1M -p 0.01 --svg -o plan.svg")
    root = parse(c, "plan.svg")
    shown = texts(root)
    for text in ("1 M", "2 M", "0.01", "1", "keys in the filter", "false-positive rate, logarithmic", "planned"):
        c.expect(text in shown, f"no '{text}' in {shown}")
    c.expect("now" not in shown, "a plan has no keys now")
    c.run("plot f --svg -o file.svg")
    root = parse(c, "file.svg")
    c.expect("now" in texts(root) and "now: about 1," in root.find(SVG + "desc").text, "what is now")
    circles = {circle.get("class"): circle for circle in root.iter(SVG + "circle")}
    c.expect(float(circles["now"].get("cx")) < float(circles["planned"].get("cx")) and
             float(circles["now"].get("cy")) > float(circles["planned"].get("cy")), "now is before planned")
    c.run("plot --fill f --svg -o fill.svg")
    root = parse(c, "fill.svg")
    bars = [rect for rect in root.iter(SVG + "rect") if rect.get("class") == "bar"]
    c.expect(len(bars) >= 10 and "bits set in a block" in texts(root), f"{len(bars)} bars")
    c.run("plot -n 500 -p 1e-12 --kind scalable --svg -o chain.svg")
    parse(c, "chain.svg")


@case
def names_of_files_do_not_break_the_drawing(c):
    for name in ("<a> & \"b\" ]]>", "bell\a and\nline \x1b[31m", "Gr\u00f6\u00dfe \uffff", "x" * 200 + "\u00e4" * 20):
        c.run(["build", "-q", "-n", "100", "-p", "0.01", "-o", name], stdin=keys(50))
        c.run(["plot", name, "--svg", "--force", "-o", "out.svg"])
        title = parse(c, "out.svg").find(SVG + "title").text
        c.expect("blocked filter" in title, title)
        text = c.run(["plot", name], environment=UTF8, stdout=None)[0].decode()
        c.expect("\a" not in text and "\x1b" not in text and "blocked filter, " in text.splitlines()[0], text)
    name = os.fsencode(c.path("")) + b"no \xff UTF-8"
    c.run([b"build", b"-q", b"-n", b"100", b"-o", name], stdin=keys(50))
    c.run([b"plot", name, b"--svg", b"--force", b"-o", b"out.svg"])
    c.expect("no ? UTF-8" in parse(c, "out.svg").find(SVG + "title").text, "the bad byte")


@case
def output_replaces_no_file_without_force(c):
    c.run("build -q -n 100 -p 0.01 -o f", stdin=keys(50))
    drawn = c.run("plot f --svg", stdout=None)[0]
    c.run("plot f --svg -o -", stdout=drawn)
    c.run("plot f --svg -o new.svg")
    c.expect(c.read("new.svg") == drawn, "the file has other bytes than stdout")
    c.file("old.svg", "old")
    c.run("plot f --svg -o old.svg", code=2, stderr="bloomery: plot: old.svg: exists; --force overwrites it\n")
    c.expect(c.read("old.svg") == b"old", "it was overwritten")
    c.run("plot f --svg -o old.svg --force")
    c.expect(c.read("old.svg") == drawn, "--force did not overwrite")
    filter_bytes = c.read("f")
    c.run("plot f --svg -o f --force", code=2, stderr=has("f: is a filter, and would become text"))
    c.expect(c.read("f") == filter_bytes, "the filter is gone")
    c.run("plot f --svg -o no/where.svg", code=2, stderr=has("no/where.svg: directory no does not exist"))
    os.mkdir(c.path("folder"))
    c.run("plot f --svg -o folder", code=2, stderr=has("folder: is a directory"))
    c.expect(c.names() == ["f", "folder", "new.svg", "old.svg"], f"{c.names()}")


@case
def wrong_inputs_are_refused(c):
    c.run("build -q -n 100 -p 0.01 -o f", stdin=keys(50))
    c.run("build -q -n 100 -p 0.01 -o g", stdin=keys(50))
    c.file("text", keys(3))
    c.file("half", c.read("f")[:200])
    for line, said in (
            ("", "nothing to plot: name a filter, or give a plan (-n 1M -p 0.01)"),
            ("f g", "'g': plot takes one filter"),
            ("f -n 100", "a filter contains its plan: give a filter, or -n, -p and --memory"),
            ("--kind classic f", "a filter contains its plan"),
            ("--fill", "--fill takes a filter, whose blocks are counted"),
            ("--fill -n 100", "--fill takes a filter"),
            ("--fill f --to 10", "--to is for the curve of the rate, not for --fill"),
            ("--dialect guava -n 10", "--dialect says how to read a filter, and none is named"),
            ("f --svg --json", "--svg and --json are two forms of output: give one"),
            ("f -o out.txt", "-o is for --svg, which a name that ends in .svg implies"),
            ("f --json -o out.svg", "-o is for --svg"),
            ("f --svg --force", "--force lets -o replace a file; give -o too"),
            ("-p 0.01", "no size: give two of -n, -p and --memory, or -n alone"),
            ("--memory 1MiB", "no size: "),
            ("-n 10 -p 0.01 --memory 1MiB", "give two of -n, -p and --memory; the third follows"),
            ("-n 10 --kind scalable --memory 1MiB", "a scalable filter is planned by -n and -p"),
            ("-n 10 --kind classic --blocks 2", "--blocks is for blocked filters; a classic one has none"),
            ("-n 10 --kind classic --counter-bits 4", "--counter-bits"),
            ("-n 10 --kind clasic", "did you mean 'classic'?"),
            ("-n none", "-n 'none' is not a number"), ("-n 10 -p 2", "-p 2"), ("-n 10 --to 0", "--to 0"),
            ("-n 10 --blocks 5", "--blocks 5"), ("-n 10 --probes 65", "--probes 65"),
            ("f --dialect nosuch", "nosuch")):
        c.run(f"plot {line}", code=2, stderr=has("bloomery: plot: ", said, TRY))
    for line, said in (("nosuch", "nosuch: No such file or directory"), ("text", "text: not a Bloomery filter"),
                       ("--fill half", "half: cut short"), (".", ".: "), ("-n 1M --memory 1k", "rate"),
                       ("-n 10 -p 0.01 --probes 20", "20 are wanted"), ("-", "not a regular file")):
        c.run(f"plot {line}", code=2, stderr=has("bloomery: plot: ", said))
    c.expect(c.names() == ["f", "g", "half", "text"], f"{c.names()}")


@case
def filters_without_a_plot_say_why(c):
    c.file("keys", keys(3000))
    c.run("build -q -n 3000 -p 0.01 --kind static -o static keys", stderr=None)
    c.run("plot static", code=2, stderr="bloomery: plot: static: a static filter has a single rate, and no key can "
          "be added to it, so it does not have a curve; 'bloomery inspect' shows the rate\n")
    c.run("plot -n 100 --kind static", code=2, stderr="bloomery: plot: a static filter has a single rate, and no key "
          "can be added to it, so it does not have a curve; 'bloomery plan' shows the rate\n")
    c.run("plot --fill static", code=2, stderr=has("about half of the bits of a static filter are set"))
    c.run("build -q -n 3000 -p 0.01 --kind classic -o classic keys")
    c.run("plot --fill classic", code=2, stderr=has("classic: a classic filter has no blocks"))
    c.run("build -q -n 3000 -p 0.01 --dialect parquet -o parquet keys", stderr=None)
    c.run("plot --fill --dialect parquet parquet", code=2, stderr=has("filters of parquet have other blocks"))
    c.run("build -q -n 3000 -p 0.01 --dialect redisbloom -o redis keys", stderr=None)
    c.run("plot --dialect redisbloom redis", code=2, stderr=has("a chain of redisbloom grows by"))
    for name, first in (("one", 0), ("two", 5000)):
        c.run(f"build -q -n 1000 -p 0.01 --kind scalable -o {name}", stdin=keys(3000, first))
    c.run("merge -q -o both one two", stderr=None)
    c.run("plot both", code=2, stderr=has("both: its layers are not those of one plan, as after a merge"))
    c.run("plot --fill both", stdout=has("Fill by block: both, scalable filter"))


@case
def empty_and_full_filters_are_drawn(c):
    c.run("build -q -n 100 -p 0.01 -o empty", stderr=None)
    c.run("plot empty", environment=ASCII, stdout=has("O now: about 0 keys, at a rate of 0 as predicted, 0 live"))
    c.run("plot empty --svg -o empty.svg")
    parse(c, "empty.svg")
    fill = report(c, "plot --fill --json empty")
    c.expect(fill["fill"] == [{"cells_set": 0, "blocks": fill["blocks"], "expected": fill["blocks"]}], f"{fill}")
    c.run("build -q -n 10 -p 0.5 -o full", stdin=keys(20000), stderr=None)
    c.run("plot full", environment=ASCII, stdout=has("O now: all bits are set, rate 1"))
    c.expect(report(c, "plot --json full")["now"]["keys"] is None, "infinity in JSON")
    c.run("plot full --svg -o full.svg")
    parse(c, "full.svg")
    fill = report(c, "plot --fill --json full")
    c.expect(fill["fill"] == [{"cells_set": 512, "blocks": 1, "expected": 1.0}], f"{fill}")


@case
def a_name_that_ends_in_svg_says_svg(c):
    c.run("plot -n 1M -p 0.01 -o rate.svg")
    c.run("plot -n 1M -p 0.01 --svg -o same.svg")
    c.expect(c.read("rate.svg") == c.read("same.svg") != b"", "they differ")
    c.run("plot -n 1M -p 0.01 --json -o json.svg", code=2, stderr=has("-o is for --svg"))


main()
