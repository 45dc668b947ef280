# SPDX-License-Identifier: Apache-2.0
"""The pages of docs/ whose commands build on each other, and the example of README.md: every command does what it says.

(scripts/check-docs looks at what they name; test_documents.py runs all other commands.)"""

import hashlib
import json
import os
import random
import re
import shlex
import shutil
import subprocess

from runner import EMULATOR, SECONDS, TOOL, Skip, case, has, main

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
KINDS = ("blocked", "classic", "static", "counting", "scalable")


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def blocks(name):
    """The pieces of shell commands of a page: those that need no further program, or one that is there."""
    return [piece for needed, piece in re.findall(r"^```sh(?: needs (\w+))?\n(.*?)^```$", page(f"docs/{name}"), re.M | re.S)
            if not needed or shutil.which(needed)]


def shell(c, piece, *options, **environment):
    """Runs a piece with `bloomery` in the path; returns (stdout, stderr)."""
    if not os.path.exists(c.path("bin")):
        os.mkdir(c.path("bin"))
        c.file("bin/bloomery", "#!/bin/sh\nexec " + shlex.join([*EMULATOR, TOOL]) + ' "$@"\n')
        os.chmod(c.path("bin/bloomery"), 0o755)
    done = subprocess.run(["bash" if options else "sh", "-e", *options, "-c", piece], cwd=c.directory, capture_output=True,
                          text=True, timeout=SECONDS, check=False,
                          env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"], **environment})
    if "libcrypto" in done.stderr:
        raise Skip("this build has no digests")
    c.expect(done.returncode == 0, f"{piece}: {done.returncode}: {done.stderr}")
    return done.stdout, done.stderr


def recommended(c, options):
    """The plan that the command recommends."""
    output, _ = c.run(f"plan {options} --json", stdout=has("{"))
    return next(plan for plan in json.loads(output)["plans"] if plan["recommended"])


# ---- docs/kinds.md -----------------------------------------------------------------------------------

@case
def commands_of_the_page_on_kinds_work(c):
    ids = "".join(f"id {i}\n" for i in range(50_000))
    c.file("ids.txt", ids)
    c.file("left.txt", "id 7\nid 8\n")
    c.file("more.txt", "another\n")
    c.file("candidates.txt", "id 7\nid 9\n")
    pieces = blocks("kinds.md")
    c.expect(len(pieces) == 7, f"{len(pieces)} pieces")
    said = "".join(shell(c, piece)[0] for piece in pieces)
    c.expect("1\tid 9\n" in said, said)
    c.expect(c.read("members-small.bloom") != b"" and c.read("unique.txt") == ids.encode(), "files differ")
    # A key was removed before, so the two are of one size and need not be equal.
    c.expect(len(c.read("members-small.bloom")) == len(c.read("ids.bloom")), "sizes differ")


@case
def sizes_of_the_table_of_kinds_are_those_of_plan(c):
    rows = {"1e-2": "bits per key at 1 in 100", "1e-4": "at 1 in 10,000", "1e-6": "at 1 in a million"}
    lines = page("docs/kinds.md").splitlines()
    for rate, title in rows.items():
        line = next(line for line in lines if line.startswith("|") and title in line.split("|")[1])
        for kind, cell in zip(KINDS, line.split("|")[2:]):
            stated = re.match(r" ([0-9.]+) ", cell).group(1)
            plan = recommended(c, f"-n 20M -p {rate} --kind {kind}")
            c.expect(stated == f"{plan['bits_per_key']:.2f}", f"{kind} at {rate}: {stated}, {plan}")


# ---- docs/merging.md ---------------------------------------------------------------------------------

@case
def commands_of_the_page_on_merging_work(c):
    c.file("keys.txt", "".join(f"key {i}\n" for i in range(200_000)))
    pieces = blocks("merging.md")
    c.expect(len(pieces) >= 7, f"{len(pieces)} pieces")
    c.expect("CI" not in os.environ or any("parallel" in piece for piece in pieces), "no GNU parallel")
    said = "".join(shell(c, piece)[0] for piece in pieces)
    keys = sum(c.read(f"part-{day}").count(b"\n") for day in ("aa", "ab", "ac", "ad"))
    c.expect(str(keys) in said, f"no {keys} in {said}")
    c.expect(c.read("reduced.bloom") == c.read("whole.bloom") == c.read("all.bloom"), "they differ")


# ---- docs/sieve.md -----------------------------------------------------------------------------------

@case
def commands_of_the_page_on_the_sieve_work(c):
    pieces = blocks("sieve.md")
    c.expect(len(pieces) == 9, f"{len(pieces)} pieces")
    said = [shell(c, piece, "-o", "pipefail")[0] for piece in pieces]
    c.expect(said[1] == "http://example.org/\nhttp://example.org/a\n", said[1])
    c.expect(re.search(r"  done +3  acknowledged\n", said[2]) is not None, said[2])
    c.expect(c.read("seen.txt").splitlines() == [
        b"HTTP://Example.org", b"http://example.org/a", b"http://example.org/b", b"http://example.org/a#top",
        b"http://example.org/old"], c.read("seen.txt"))
    c.expect(len(json.loads(c.read("leased.json"))["items"]) == 5, "leases")
    c.expect((len(c.read("gone.txt").splitlines()), len(c.read("more.txt").splitlines())) == (5, 4), "dead keys")
    c.expect(sorted(c.read("different.txt").splitlines()) == sorted(c.read("seeds.txt").splitlines()), "another set")


# ---- docs/corpora.md ---------------------------------------------------------------------------------

def documents(seed, count):
    """Some of their paragraphs are those of all files."""
    choose = random.Random(seed)
    common = [f"boilerplate number {i} that many pages have at their end" for i in range(20)]
    for number in range(count):
        lines = [" ".join(f"w{choose.randrange(500)}" for _ in range(choose.randint(2, 30))) for _ in range(3)]
        lines.insert(choose.randrange(4), choose.choice(common))
        yield json.dumps({"id": number, "text": "\n".join(lines)}) + "\n"


def all_of(c, directory):
    return b"".join(c.read(f"{directory}/{name}") for name in sorted(os.listdir(c.path(directory)))
                    if not name.startswith("."))


@case
def commands_of_the_page_on_corpora_work_and_shards_give_what_one_run_gives(c):
    os.mkdir(c.path("in"))
    for name in "abcd":
        c.file(f"in/{name}.jsonl", "".join(documents(name, 150)))
    c.file("bench.jsonl", "".join(documents("bench", 30)) + "".join(list(documents("a", 150))[7:9]))
    found = blocks("corpora.md")
    c.expect(len(found) >= 6, f"{len(found)} pieces")
    c.expect("CI" not in os.environ or any("parallel" in piece for piece in found), "no GNU parallel")
    for piece in found:
        shell(c, piece)
    whole = all_of(c, "out")
    c.expect(0 < len(whole) < len(all_of(c, "in")), "nothing was removed")
    c.expect(all_of(c, "one") + all_of(c, "two.clean") == whole, "two passes differ from one run")
    c.expect(all_of(c, "whole") == whole, "shards by key differ from one run")
    c.expect(0 < len(all_of(c, "clean")) < len(all_of(c, "in")), "decontamination")
    c.expect(all_of(c, "tree") == whole, "a list of names gives other files")
    if os.path.isdir(c.path("part1")):
        c.expect(all_of(c, "part1") == all_of(c, "one") and all_of(c, "part2") == all_of(c, "two"), "parallel")


def recipes(needed, language="sh"):
    """The pieces of the page on corpora that need something that few machines have."""
    return re.findall(rf"^```{language}{needed}\n(.*?)^```$", page("docs/corpora.md"), re.M | re.S)


@case
def the_recipe_for_parquet_makes_the_same_columns(c):
    """With PyArrow if it is there. Otherwise files of JSON stand for Parquet, and only the recipe's own lines are tried."""
    scripts, (piece,) = recipes("", "python"), recipes(" needs pyarrow")
    c.expect(len(scripts) == 2, f"{len(scripts)} scripts")
    for name, script in zip(("rows.py", "table.py"), scripts):
        c.file(name, script)
    texts = ["Buy now\nCats sleep", "Buy now\nDögs", "Buy now"]
    rows = [{"id": i, "text": text, "tags": ["a"] * i, "rate": None if i == 2 else 0.5} for i, text in enumerate(texts)]
    kept = [rows[0], {**rows[1], "text": "Dögs"}]
    python = os.environ.get("BLOOMERY_TEST_PYARROW", "python3")
    real = subprocess.run([python, "-c", "import pyarrow.parquet"], capture_output=True, check=False).returncode == 0
    if not real:
        os.mkdir(c.path("pyarrow"))
        c.file("pyarrow/__init__.py", PYARROW)
        c.file("pyarrow/parquet.py", PYARROW_PARQUET)
    # The rows of a Parquet file and back, beside the recipe.
    write = "import json, sys, pyarrow as pa, pyarrow.parquet as pq; rows = json.load(sys.stdin); " \
            "t = pa.Table.from_pylist(rows, None); w = pq.ParquetWriter(\"docs.parquet\", t.schema); w.write_table(t); w.close()"
    read = 'import json, sys, pyarrow.parquet as pq; ' \
           'print(json.dumps([row for b in pq.ParquetFile("clean.parquet").iter_batches(7) for row in b.to_pylist()]))'
    for command, text in (([python, "-c", write], json.dumps(rows)), (None, None), ([python, "-c", read], "")):
        if command is None:
            shell(c, piece.replace("python3 ", python + " "), PYTHONPATH=c.directory)
            continue
        done = subprocess.run(command, cwd=c.directory, input=text, capture_output=True, text=True, timeout=SECONDS,
                              check=False, env={**os.environ, "PYTHONPATH": c.directory})
        c.expect(done.returncode == 0, f"{done.stderr}")
    c.expect(json.loads(done.stdout) == kept, f"{done.stdout}")
    if not real:
        raise Skip("no pyarrow: tried with files of JSON in place of Parquet")


PYARROW = """
class Table:
    def __init__(self, rows):
        self.rows, self.schema = rows, sorted(rows[0]) if rows else []
    from_pylist = classmethod(lambda cls, rows, schema: cls(rows))
"""
PYARROW_PARQUET = """
import json
class ParquetFile:
    def __init__(self, path):
        with open(path) as file:
            self.rows = [json.loads(line) for line in file]
    def iter_batches(self, count):
        for at in range(0, len(self.rows), count):
            yield Batch(self.rows[at:at + count])
class Batch:
    def __init__(self, rows):
        self.rows = rows
    def to_pylist(self):
        return self.rows
def read_schema(path):
    return sorted(ParquetFile(path).rows[0])
class ParquetWriter:
    def __init__(self, path, schema):
        self.file, self.schema = open(path, "w"), schema
    def write_table(self, table):
        assert table.schema == self.schema
        self.file.writelines(json.dumps(row) + "\\n" for row in table.rows)
    def close(self):
        self.file.close()
    __enter__ = lambda self: self
    __exit__ = lambda self, *_: self.close()
"""


@case
def the_recipe_for_object_storage_stops_at_the_first_failure(c):
    """With a folder in place of the storage."""
    if shutil.which("zstd") is None:
        raise Skip("no zstd")
    piece, = recipes(" needs s3")
    os.makedirs(c.path("corpus/in"))
    os.makedirs(c.path("corpus/out"))
    for shard in ("000", "001"):
        text = "".join(documents(shard, 40)).encode()
        c.file(f"corpus/in/{shard}.jsonl.zst", subprocess.run(["zstd", "-qc"], input=text, capture_output=True, check=True).stdout)
    shell(c, "bloomery --version")  # makes the folder
    c.file("bin/aws", '#!/bin/sh\nset -e\nfrom=${3#s3://} to=${4#s3://}\n'
                      'if [ "$from" = - ]; then cat > "$to"; else cat "$from"; fi\n')
    os.chmod(c.path("bin/aws"), 0o755)
    shell(c, piece, "-u")
    whole, _ = shell(c, "zstd -dc corpus/in/*.zst | bloomery dedupe -q --jsonl text --unit paragraph")
    made, _ = shell(c, "zstd -dc corpus/out/*.zst")
    c.expect(made == whole, "other documents")
    packed = c.read("corpus/in/000.jsonl.zst")
    c.file("corpus/in/000.jsonl.zst", packed[:len(packed) // 2])  # a download that breaks off
    state = c.read("seen.bloom")
    os.remove(c.path("corpus/out/001.jsonl.zst"))
    done = subprocess.run(["bash", "-c", piece], cwd=c.directory, capture_output=True, timeout=SECONDS, check=False,
                          env={**os.environ, "PATH": c.path("bin") + ":" + os.environ["PATH"]})
    c.expect(done.returncode != 0 and not os.path.exists(c.path("corpus/out/001.jsonl.zst")), "it went on after a failure")
    c.expect(c.read("seen.bloom") == state, "the state was changed")


# ---- docs/near.md ------------------------------------------------------------------------------------

@case
def commands_of_the_page_on_near_duplicates_work_and_shards_give_what_one_run_gives(c):
    os.mkdir(c.path("in"))
    for name in "abcd":
        lines = list(documents(name, 40))
        for number in range(0, 40, 3):  # the same words in all files but a few
            text = " ".join(f"w{i}" for i in range(100 * number, 100 * number + 80)) + f" {name} {name} end"
            lines[number] = json.dumps({"id": number, "text": text}) + "\n"
        c.file(f"in/{name}.jsonl", "".join(lines))
    found = blocks("near.md")
    c.expect(len(found) == 1, f"{len(found)} pieces")
    shell(c, found[0])
    names = " ".join(f"in/{name}.jsonl" for name in "abcd")
    whole, _ = c.run(f"dedupe -q --jsonl text --unit document --near 0.8 --add-all {names}", stdout=None)
    c.expect(all_of(c, "one") + all_of(c, "two.clean") == whole, "two passes differ from one run")
    c.expect(len(whole) < len(all_of(c, "in")) - 10000, "nothing was dropped")


# ---- docs/dialects.md --------------------------------------------------------------------------------

def dialects(c):
    return json.loads(c.run("dialects --json", stdout=None)[0])["dialects"]


@case
def commands_of_the_page_on_dialects_work(c):
    c.file("keys.txt", "".join(f"key {i}\n" for i in range(2000)))
    c.file("more.txt", "another\nand another\n")
    c.file("asked.txt", "key 7\nkey 1999\nan absent key\n")
    c.file("ids.txt", "".join(f"{i * 7919 - 5000}\n" for i in range(1000)))
    pieces = blocks("dialects.md")
    c.expect(len(pieces) >= len(dialects(c)), f"{len(pieces)} pieces")
    for piece in pieces:
        said, _ = shell(c, piece)
        # What a piece says that it prints: "# 3" behind a query that counts.
        wanted = re.findall(r" # (\d+)$", piece, re.M)
        c.expect(re.findall(r"^(\d+)$", said, re.M) == wanted, f"{piece}: {said}")


@case
def the_table_of_dialects_is_the_list_of_the_command(c):
    text = page("docs/dialects.md")
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        name = re.match(r"\[`([a-z0-9-]+)`\]\(#([a-z0-9-]+)\)$", cells[0])
        if line.startswith("| [`") and name:
            c.expect(name.group(1) == name.group(2), f"{name.group(0)} leads elsewhere")
            rows[name.group(1)] = cells
    listed = {dialect["name"]: dialect for dialect in dialects(c)}
    c.expect(list(rows) == list(listed) or set(rows) == set(listed), f"{set(rows) ^ set(listed)} differ")
    for name, dialect in listed.items():
        can = ", ".join(word for word, fact in (("read", "reads"), ("write", "writes"), ("make", "creates")) if dialect[fact])
        c.expect(rows[name][2] == can, f"{name}: {rows[name][2]}, not {can}")
        c.expect(rows[name][3] in (("yes",) if dialect["magic"] else ("no", "suggested")), f"{name}: recognised is {rows[name][3]}")
        c.expect(f"\n## {name}\n" in text, f"no section of {name}")
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for variant in dialect["variants"]:
            c.expect(f"`{variant}`" in section, f"{name}: variant {variant} is not told of")
        c.expect("```sh" in section, f"{name} has no example")


# ---- docs/lists.md -----------------------------------------------------------------------------------

ME = "lists@example.org"


def sha1(text):
    return hashlib.sha1(text.encode()).hexdigest()


def make_lists(c):
    listed = sorted(sha1(f"password {n}").upper() for n in range(5000)) + [sha1("hunter2").upper()]
    fresh = sorted(sha1(f"new password {n}").upper() for n in range(300))
    c.file("pwned.txt", "".join(f"{digest}:{n}\r\n" for n, digest in enumerate(sorted(listed))))
    c.file("pwned-new.txt", "".join(f"{digest}:{n}\r\n" for n, digest in enumerate(sorted(listed + fresh))))
    c.file("NSRLFile.txt", '"SHA-1","MD5","CRC32","FileName","FileSize"\r\n' + "".join(
        f'"{sha1(f"file {n}").upper()}","{n:032X}","{n:08X}","file, {n}.dll",{n}\r\n' for n in range(2000)))
    asked = [sha1(f"password {n}") for n in range(4500, 5500)] + [sha1("new password 7")]
    c.file("candidates.txt", "".join(digest + "\n" for digest in asked))
    os.mkdir(c.path("files"))
    c.file("files/known.dll", "file 7")
    c.file("files/mine.txt", "nobody else has this")
    return asked


def make_keys(c, environment):
    """Keys to sign with, where there are the programs: without a password."""
    os.mkdir(c.path("gnupg"), 0o700)
    for program, line in (("gpg", f"gpg --batch --passphrase '' --quick-generate-key {ME} default default never"),
                          ("minisign", "minisign -G -W -p minisign.pub")):
        if shutil.which(program):
            subprocess.run(shlex.split(line), cwd=c.directory, env=environment, capture_output=True, check=True,
                           timeout=100)


@case
def commands_of_the_page_on_lists_work(c):
    asked = make_lists(c)
    environment = {"HOME": c.directory, "GNUPGHOME": c.path("gnupg"), "MINISIGN_CONFIG_DIR": c.path("gnupg")}
    make_keys(c, {**os.environ, **environment})
    pieces = blocks("lists.md")
    c.expect(page("docs/lists.md").count("\n```sh") == 11 and len(pieces) >= 9, f"{len(pieces)} pieces")
    said, leaked = "", []
    try:
        for piece in pieces:
            out, warned = shell(c, piece, **environment)
            c.expect("warning" not in warned.replace("gpg: WARNING", ""), f"{piece}: {warned}")
            said += out
            leaked.append(c.read("leaked.txt").decode().split() if "leaked.txt" in piece else None)
    finally:
        if shutil.which("gpgconf"):
            subprocess.run(["gpgconf", "--kill", "all"], env={**os.environ, **environment}, check=False, capture_output=True, timeout=100)
    first, both, dcso = [found for found in leaked if found is not None]
    c.expect(first == dcso == asked[:500], f"found {len(first)} and {len(dcso)}, not 500")
    c.expect(both == asked[:500] + asked[-1:], f"found {len(both)} in the base and the delta")
    c.expect("leaked\n" in said and "500\n" in said, said)
    unknown = c.read("unknown.txt").decode()
    c.expect(re.fullmatch(r"[0-9a-f]{40}  files/mine.txt\n", unknown), unknown)
    result = json.loads(c.read("result.json"))
    c.expect(result["count"] == 500 and 0 < result["expected_false_positives"] < 0.01, f"{result}")
    c.expect(len(c.read("delta.txt").splitlines()) == 300, "the delta is not what is new")


@case
def sizes_of_the_table_of_lists_are_those_of_plan(c):
    rows = re.findall(r"^\| (1e-\d) \| ([0-9.]+ GiB) \| ([0-9.]+ GiB) \|$", page("docs/lists.md"), re.M)
    c.expect(len(rows) == 3, f"{rows}")
    for rate, *sizes in rows:
        for kind, size in zip(("blocked", "static"), sizes):
            plan = recommended(c, f"-n 1e9 -p {rate} --kind {kind}")
            c.expect(f"{plan['bytes'] / 2**30:.2f} GiB" == size, f"{kind} at {rate}: {size}, {plan}")


# ---- README.md, docs/counting.md, docs/format.md -----------------------------------------------------

# README works with 20 million lines, and a test with a hundredth of them.
SMALLER = {"20M": "200k", "21M": "210k", "10M": "100k", "1M": "10k"}


def commands(c, text, count):
    """The commands of a list of lines that begin with a dollar, without their comments."""
    found = [re.split(r" {2,}# ", line)[0].strip() for line in re.findall(r"^    \$ (.*)$", text, re.M)]
    c.expect(len(found) == count, f"{len(found)} commands")
    return found


@case
def commands_of_the_minute_do_what_they_say(c):
    text = page("docs/README.md").partition("## In a minute\n")[2].partition("\n## ")[0]
    said = {}
    for line in commands(c, text, 12):
        for number, smaller in SMALLER.items():
            line = re.sub(rf"\b{number}\b", smaller, line)
        said[line] = shell(c, line + " || test $? -eq 1" if "&&" in line else line)[0]  # 1: it is not in it
    others = c.read("others.txt").decode().splitlines()
    possibly, absent = (said[next(line for line in said if line.startswith(start))].splitlines()
                        for start in ("bloomery query ids.bloom", "bloomery query -v"))
    c.expect(len(others) == 10_000 and sorted(possibly + absent) == sorted(others), "lines are lost")
    # 8,000 of a million, the page says, before the filter is full: 80 here, five deviations above and below.
    c.expect(80 - 45 < len(possibly) < 80 + 45, f"{len(possibly)} of 10,000 are possibly in it")
    one = said['bloomery query -k "$(head -n 1 ids.txt)" ids.bloom']
    c.expect(one == c.read("ids.txt").decode().partition("\n")[0] + "\n", "the one key")
    kept = c.read("distinct.txt").decode().splitlines()
    ids = c.read("ids.txt").decode().splitlines() + c.read("more.txt").decode().splitlines()
    c.expect(len(set(kept)) == len(kept) and set(kept) <= set(ids), "dedupe keeps other lines")
    c.expect(len(set(ids)) - len(kept) <= 60, f"{len(set(ids)) - len(kept)} lines are lost at a rate of 1e-4")


@case
def commands_of_the_counting_page_do_what_they_say(c):
    c.file("members.txt", "".join(f"member {i}\n" for i in range(1000)) + "member 7\n")
    c.file("left.txt", "member 5\nmember 7\n")
    c.file("who.txt", "member 5\nmember 7\nmember 8\n")
    said = [shell(c, line)[0] for line in commands(c, page("docs/counting.md"), 4)]
    c.expect(said[2] == "1\tmember 7\n1\tmember 8\n", said[2])
    parts = [len(c.read(name)) for name in ("members.bloom", "small.bloom")]
    c.expect(3.9 < parts[0] / parts[1] < 8.1, f"the small one is {parts[1]} of {parts[0]} bytes")


@case
def worked_example_of_the_format_is_the_commands_file(c):
    text = page("docs/format.md").partition("## A worked example\n")[2]
    line, = re.findall(r"^    (printf .* one\.bloom)$", text, re.M)
    shown = re.search(r"^```\n(.*?)^```$", text, re.M | re.S).group(1)
    shell(c, line)
    stated = bytes.fromhex("".join(row.split("  ", 1)[1].replace(" ", "") for row in shown.splitlines()))
    c.expect(c.read("one.bloom") == stated, "the file is another one")
    c.expect(shell(c, "od -v -A x -t x1 one.bloom")[0].splitlines()[0].split()[1:] == shown.split("\n")[0].split()[1:],
             "od shows other bytes")


main()
