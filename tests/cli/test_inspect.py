# SPDX-License-Identifier: Apache-2.0
"""inspect: facts, verification, measurement; what counts as a finding."""

import json
import os

from runner import Skip, case, has, keyed, main

KEYS = "".join(f"key-{i}\n" for i in range(1000))


def build(c, line="-n 1000 -p 0.01", keys=KEYS, name="f.bloom"):
    """Makes a filter."""
    c.run(f"build -q {line} -o {name}", stdin=keys, stderr=None)


def inspect(c, line="", name="f.bloom", code=0):
    """The JSON report."""
    return json.loads(c.run(f"inspect --json {name} {line}", stdout=None, code=code)[0])


def change(c, name, place, content):
    """Overwrites bytes of a file."""
    with open(c.path(name), "r+b") as file:
        file.seek(place, os.SEEK_SET if place >= 0 else os.SEEK_END)
        file.write(content)


@case
def facts_of_a_filter(c):
    build(c)
    out = c.run("inspect f.bloom", stdout=None)[0].decode()
    lines = [line.split(None, 1) for line in out.splitlines()]
    c.expect(lines[0] == ["f.bloom:", "a Bloomery filter, format version 2"], lines[0])
    for part in ("  kind             blocked: 1 block of 512 bits per key, 8 bits in it\n",
                 "  hash             XXH3-64, seed 0\n",
                 "  planned for      1,000 keys at a rate of ",
                 ", after 1,000 adds\n", "  rate, predicted  ", "  rate, live       "):
        c.expect(part in out, f"'{part}' is missing in {out}")
    c.expect("verdict" not in out, "what was not asked for")
    c.expect(out.endswith("  checksums        of the header only; --verify compares all\n"), out)


@case
def text_and_json_agree_with_the_plan(c):
    for kind, lines in (("blocked", 1), ("blocked", 2), ("blocked", 3), ("classic", 0)):
        options = f"-n 1000 -p 1e-4 --kind {kind}" + (f" --blocks {lines}" if lines else "")
        build(c, options)
        plan = json.loads(c.run(f"plan --json {options}", stdout=None)[0])["plans"][0]
        info = inspect(c)
        for name in ("kind", "blocks_per_key", "probes", "bits", "bytes"):
            c.expect(info[name] == plan[name], f"{name} is {info[name]}, planned {plan[name]}")
        c.expect(info["planned_rate"] == plan["rate"] and info["planned_keys"] == 1000, "the plan")
        c.expect(info["file_bytes"] == os.path.getsize(c.path("f.bloom")), "the size of the file")
        c.expect(info["adds"] == 1000 and 970 < info["estimated_keys"] < 1030, "the keys")
        c.expect(0 < info["bits_set"] < info["bits"], "the bits set")
        c.expect(abs(info["fill"] - info["bits_set"] / info["bits"]) < 1e-12, "the fill")
        c.expect(0 < info["live_rate"] < 3e-4 and 0 < info["predicted_rate"] < 2e-4, "the rates")
        c.expect(not info["over_full"] and not info["finding"], "a finding")


@case
def empty_filter_has_rate_zero(c):
    build(c, keys="")
    c.run("inspect f.bloom --measure 10k", stdout=has(
        "bits set         0 of ", "keys in it       none: no bit is set\n",
        "rate, predicted  0 (never)\n", "rate, live       0 (never)\n",
        "rate, measured   0 (never): 0 of 10,000 absent keys; 95 % interval 0 to 0.000384\n",
        "verdict          right"))
    info = inspect(c)
    c.expect(info["live_rate"] == 0 and info["estimated_keys"] == 0, "an empty filter is not empty")


@case
def full_filter_says_so(c):
    build(c, "-n 1 -p 0.9", "".join(f"{i}\n" for i in range(20_000)))
    c.run("inspect f.bloom", stdout=has("512 of 512 (100.00 %)", "unknown: all bits are set",
                                        "rate, live       1 (always)\n"))
    info = inspect(c, "--measure 1000", code=1)
    c.expect(info["estimated_keys"] is None and info["live_rate"] == 1, "every bit is set")
    c.expect(info["over_full"] and info["measured"]["false_positives"] == 1000, "the rate of it")
    c.expect(info["measured"]["live_above_planned"], "live 1 is above the planned rate")


@case
@keyed
def measuring_agrees_with_the_bits(c):
    for options in ("-p 0.01", "-p 0.2 --blocks 2", "-p 0.05 --kind classic", "-p 0.001 --keyed"):
        build(c, f"-n 1000 {options}")
        c.run("inspect f.bloom --measure 300k", stdout=has(
            "verdict          right: measured agrees with live, and live with what was planned\n"))
        info = inspect(c, "--measure 300k --seed 9")
        measured = info["measured"]
        c.expect(measured["queries"] == 300_000 and not info["finding"], "the report")
        c.expect(measured["rate"] == measured["false_positives"] / 300_000, "the rate")
        c.expect(measured["low_95"] < measured["rate"] < measured["high_95"], "the interval")
        spread = 5 * (info["live_rate"] / 300_000) ** 0.5
        c.expect(abs(measured["rate"] - info["live_rate"]) < spread, "measured and live differ")


@case
def seed_chooses_the_keys_asked(c):
    build(c, "-n 1000 -p 0.1")
    first = inspect(c, "--measure 100k")
    c.expect(first == inspect(c, "--measure 100k --seed 0"), "the same seed, another count")
    counts = {inspect(c, f"--measure 100k --seed {seed}")["measured"]["false_positives"]
              for seed in range(5)}
    c.expect(len(counts) > 1, "seeds change nothing")


@case
def fewer_keys_than_planned_are_better_than_planned(c):
    build(c, "-n 2000 -p 0.01")
    c.run("inspect f.bloom --measure 100k", stdout=has(
        "verdict          right: measured agrees with live, which is better than planned: about ",
        " distinct keys of 2,000 planned\n"))
    info = inspect(c, "--measure 100k")
    c.expect(info["measured"]["live_above_planned"] is False and not info["finding"], "the finding")
    c.expect(info["live_rate"] < info["planned_rate"], "the rate")


@case
def too_many_keys_are_a_finding(c):
    build(c, "-n 500 -p 0.01")
    c.run("inspect f.bloom", stdout=has(": more than planned\n"))
    c.run("inspect f.bloom --measure 10k", code=1,
          stdout=has("verdict          OVER FULL: it holds more keys than it was planned for\n"))
    c.expect(inspect(c, "--measure 10k", code=1)["over_full"], "over_full is not set")


@case
def uneven_bits_are_a_finding(c):
    """Three lines in a thousand are filled up: the keys seem hardly more, the rate is thrice as high."""
    build(c, "-n 100k -p 1e-3", "".join(f"{i}\n" for i in range(100_000)))
    c.expect(inspect(c)["kind"] == "blocked", "the setting")
    for line in range(10):
        change(c, "f.bloom", 4096 + 64 * 97 * line, b"\xff" * 64)
    c.run("inspect f.bloom --measure 100k", code=1, stdout=has(
        "TOO HIGH: the live rate is above the planned one, though the keys are not too many"))
    info = inspect(c, "--measure 100k", code=1)
    c.expect(not info["over_full"] and info["measured"]["agrees_with_live"], "another finding")
    c.expect(info["measured"]["live_above_planned"], "live_above_planned is not set")


@case
def wrong_answers_are_a_finding(c):
    if "BLOOMERY_LIAR_LIBRARY" not in os.environ:
        raise Skip("no library that lies")
    build(c)
    lies = {"LD_PRELOAD": os.environ["BLOOMERY_LIAR_LIBRARY"], "BLOOMERY_LIAR": "invent"}
    c.run("inspect f.bloom --measure 100k", code=1, environment=lies, stdout=has(
        "WRONG: the measured rate is not that of these bits, by more than chance"))


@case
def verify_finds_one_changed_byte(c):
    build(c)
    c.run("inspect f.bloom --verify", stdout=has("checksums        all right\n"))
    size = os.path.getsize(c.path("f.bloom"))
    content = c.read("f.bloom")
    place = size // 2
    change(c, "f.bloom", place, bytes([content[place] ^ 1]))
    c.run("inspect f.bloom --verify", stdout=has("\n  checksums        damaged "), code=1)
    info = inspect(c, "--verify", code=1)
    c.expect(info["intact"] is False and info["damage"] and info["finding"], "the damage in JSON")
    c.run("inspect f.bloom", stdout=has("kind"))


@case
def damaged_header_is_a_finding_of_verify_and_an_error_without(c):
    build(c)
    content = c.read("f.bloom")
    change(c, "f.bloom", 30, bytes([content[30] ^ 0x40]))
    c.run("inspect f.bloom", stderr=has("bloomery: inspect: f.bloom: "), code=2)
    c.run("inspect f.bloom --verify", stdout=has("f.bloom: "), code=1)
    c.file("f.bloom", content[:-1])
    c.run("inspect f.bloom", stderr=has("bloomery: inspect: f.bloom: "), code=2)
    info = inspect(c, "--verify", code=1)
    c.expect(info["intact"] is False and info["finding"], "the damage in JSON")


@case
@keyed
def keyed_filter_without_its_key_shows_its_facts(c):
    c.run("build -q -n 1000 -p 0.01 --secret-file key -o f.bloom", stdin=KEYS)
    c.run("inspect f.bloom --verify", stdout=has("SipHash-2-4 with a secret (",
                                                 "), kept outside, and not given\n", "all right"))
    c.run("inspect f.bloom --measure 100", stderr=has(
        "f.bloom: its secret is not in the file", "--secret-file"), code=2)
    c.run("inspect f.bloom --measure 100k --secret-file key", stdout=has("kept outside, and given",
                                                                     "verdict          right"))
    info = inspect(c, "--secret-file key")
    c.expect(info["hash"] == "siphash" and len(info["secret_fingerprint"]) == 16, "the fingerprint")
    c.file("other", "00" * 16 + "\n")
    c.run("inspect f.bloom --secret-file other", stderr=has("f.bloom: "), code=2)
    c.run("inspect f.bloom --secret-file nowhere", stderr=has("nowhere: No such file"), code=2)


@case
@keyed
def key_in_the_file_needs_nothing(c):
    build(c, "-n 1300 -p 0.01 --keyed")  # with room: a random secret may be an unlucky one
    c.run("inspect f.bloom --measure 100k", stdout=has("), in this file\n", "verdict          right"))
    c.expect(inspect(c)["secret_in_file"] is True, "secret_in_file")


@case
def note_cannot_steer_the_terminal(c):
    c.run(["build", "-q", "-n", "10", "-o", "f.bloom", "--note", "red \x1b[31m\nline é"], stdin="a\n")
    c.run("inspect f.bloom", stdout=has("  note             red  [31m line é\n"))
    c.expect(inspect(c)["note"] == "red \x1b[31m\nline é", "the note in JSON")


@case
def seed_is_reported_whole(c):
    build(c, "-n 10 --seed 18446744073709551615")
    c.run("inspect f.bloom", stdout=has("XXH3-64, seed 18446744073709551615\n"))
    c.expect(inspect(c)["seed"] == "18446744073709551615", "the seed in JSON")


@case
def a_file_that_is_not_a_filter_is_an_error(c):
    c.file("text", "not a filter\n" * 100)
    c.file("empty", "")
    os.mkdir(c.path("directory"))
    for name in ("text", "empty", "directory", "nowhere"):
        for more in ("", " --verify", " --json"):
            expected = 1 if name == "empty" and more == " --verify" else 2
            c.run(f"inspect {name}{more}", stderr=None if expected == 1 else has(f"inspect: {name}: "),
                  stdout=None if expected == 1 else "", code=expected)


@case
def wrong_usage_gets_a_hint(c):
    for line, sentence in (("", "name one filter"), ("a b", "name one filter"),
                           ("f --measure 0", "--measure 0: "), ("f --measure x", "--measure "),
                           ("f --verfy", "--verify")):
        c.run(f"inspect {line}", stderr=has(sentence, "try 'bloomery inspect --help'"), code=2)
    c.run("inspect --help", stdout=has("bloomery inspect FILTER", "--measure N"))


@case
def full_disk_is_an_error(c):
    build(c)
    for more in ("", " --json"):
        with open("/dev/full", "wb") as full:
            c.run("inspect f.bloom" + more, stdout_file=full, stderr=has(os.strerror(28)), code=2)


@case
def locale_changes_nothing(c):
    build(c)
    plain = c.run("inspect f.bloom --measure 1000", stdout=None)[0]
    for locale in ("C", "de_DE.UTF-8", "tr_TR.UTF-8"):
        c.run("inspect f.bloom --measure 1000", stdout=plain,
              environment={"LC_ALL": locale, "LANG": locale})


@case
def too_few_queries_give_no_verdict(c):
    """0 hits of a million at one in a million agree with any rate."""
    c.run("build -q -n 1000 -p 1e-6 -o f.bloom", stdin="".join(f"{n}\n" for n in range(1000)))
    c.run("inspect --measure 100k f.bloom", stdout=has("verdict          none: too few queries to tell, since only about 0."))
    text, _ = c.run("inspect --json --measure 100k f.bloom", stdout=None)
    c.expect(json.loads(text)["measured"]["enough_queries"] is False, f"{text}")
    c.run("build -q -n 1000 -p 1% -o g.bloom", stdin="".join(f"{n}\n" for n in range(1000)))
    c.run("inspect --measure 100k g.bloom", stdout=has("verdict          right"))


@case
def the_number_of_a_field_is_a_whole_number(c):
    c.run("build -q -n 9 -F -2 -d : -o f.bloom", stdin="a:b\n")
    text, _ = c.run("inspect --json f.bloom", stdout=None)
    c.expect(b'"rule_field": -2,' in text, f"{text}")


main()
