# SPDX-License-Identifier: Apache-2.0
"""Filters that grow: however many keys come, up to a limit, and on from a file."""

import json
import os

from runner import case, has, main

KEYS = "".join(f"key-{i}\n" for i in range(60_000))
ABSENT = "".join(f"other-{i}\n" for i in range(200_000))


def inspect(c, name):
    """What `inspect` says of a filter."""
    return json.loads(c.run(f"inspect --json {name}", stdout=has("{"))[0])


@case
def a_filter_that_grows_is_made_on_request(c):
    c.run("build -o f.bloom", stdin=KEYS, stderr=has("wrote f.bloom: 60,000 keys, ", ", 1 in 10,"))
    c.expect(inspect(c, "f.bloom")["kind"] == "blocked", "a pipe made a chain")
    c.run("build --kind scalable -o f.bloom", stdin=KEYS,
          stderr=has("wrote f.bloom: 60,000 keys, ", " in 1 layer, 1 in 10,000\n"))
    facts = inspect(c, "f.bloom")
    c.expect(facts["kind"] == "scalable" and facts["planned_keys"] == 1 << 20, f"{facts}")
    c.run("query -c f.bloom", stdin=KEYS, stdout="60000\n")


@case
def it_grows_and_the_rate_holds(c):
    c.run("build --kind scalable -n 1000 -p 0.01 -o f.bloom", stdin=KEYS + KEYS,
          stderr=has("wrote f.bloom: 120,000 records, about ", " in 6 layers, 1 in 100\n"))
    facts = inspect(c, "f.bloom")
    c.expect(facts["layers"] == 6 and len(facts["chain"]) == 6, f"{facts}")
    c.expect([link["planned_keys"] for link in facts["chain"]] ==
             [1000, 2000, 4000, 8000, 16000, 32000], f"{facts['chain']}")
    c.expect(facts["planned_rate"] == 0.01 and facts["live_rate"] <= 0.01, f"{facts}")
    c.expect(abs(facts["estimated_keys"] - 60_000) < 1200, f"{facts['estimated_keys']}")
    c.expect(not facts["over_full"], "a chain is over full")
    c.run("query -c f.bloom", stdin=KEYS, stdout="60000\n")
    found = int(c.run("query -c f.bloom", stdin=ABSENT, stdout=has("\n"), stderr=has("expected to be false positives"))[0])
    c.expect(0.006 * 200_000 < found < 0.01 * 200_000, f"{found} of 200,000 absent keys")
    c.run("inspect f.bloom --measure 100k",
          stdout=has("scalable: ", "layers           6, this being the newest", "however far it grows",
                     "verdict          right", "     6 "))


@case
def the_same_input_makes_the_same_chain(c):
    c.file("keys", KEYS)
    c.run("build -q --kind scalable -n 500 -o f.bloom keys")
    for threads in (1, 2, 8):
        c.run(f"build -q --kind scalable -n 500 -j {threads} -o g.bloom", stdin=KEYS)
        c.expect(c.read("f.bloom") == c.read("g.bloom"), f"-j {threads} differs")


@case
def added_to_in_parts_it_is_the_same_chain(c):
    c.run("build -q --kind scalable -n 700 -o whole.bloom", stdin=KEYS)
    lines = KEYS.splitlines(keepends=True)
    c.run("build -q --kind scalable -n 700 -o parts.bloom", stdin="".join(lines[:5000]))
    for first in range(5000, 60_000, 11_000):
        c.run("add parts.bloom", stdin="".join(lines[first:first + 11_000]),
              stderr=has("parts.bloom: added 11,000 keys, about "))
    c.expect(c.read("whole.bloom") == c.read("parts.bloom"), "the parts differ from the whole")


@case
def at_its_limit_it_stops_and_says_where_it_stands(c):
    c.run("build --kind scalable -n 1000 --memory 20KB -o f.bloom", stdin=KEYS, code=2,
          stderr=has("bloomery: build: f.bloom: full with about ", " keys in ", " layers of ",
                     "would pass the limit of "))
    c.run("build --kind scalable -n 1000 --memory 4KiB -o f.bloom", stdin=KEYS, code=2,
          stderr=has(" keys in 1 layer of ", "would pass the limit of 4096 bytes"))
    c.run("build --kind scalable --folds 2 -n 1000 -o f.bloom", stdin=KEYS, code=2,
          stderr=has("scalable filters are not folded\n"))
    c.expect(c.names() == [], "a refused build left a file")
    c.run("build -q -n 10 -o f.bloom", stdin="a\n")
    before = c.read("f.bloom")
    c.run("build --kind scalable -n 1000 --memory 20KB -o f.bloom", stdin=KEYS, code=2,
          stderr=has("full with about"))
    c.expect(c.read("f.bloom") == before, "the old file was lost")
    c.run("build --kind scalable -n 1M --memory 20KB -o f.bloom", stdin=KEYS, code=2,
          stderr=has("the filter takes ", " MiB to begin with, and the limit is 19.54 KiB; plan it for fewer keys"))
    c.run("build -q --kind scalable -n 1000 --memory 1MiB -o f.bloom", stdin=KEYS)
    c.expect(os.path.getsize(c.path("f.bloom")) < (1 << 20) + 2048, "larger than --memory")


@case
def adding_keeps_to_a_limit_too(c):
    c.run("build -q --kind scalable -n 1000 -o f.bloom", stdin=KEYS)
    before = c.read("f.bloom")
    c.run("add --memory 200KB f.bloom", stdin=ABSENT, code=2,
          stderr=has("bloomery: add: f.bloom: full with about ", "would pass the limit of",
                     "nothing was added to f.bloom"))
    c.expect(c.read("f.bloom") == before, "a refused add changed the filter")
    c.run("add --memory 2MB -q f.bloom", stdin=ABSENT)
    c.expect(len(c.read("f.bloom")) < 2_000_000 + 2048, "larger than --memory")
    c.run("query -c f.bloom", stdin=KEYS + ABSENT, stdout="260000\n")
    c.run("build -q -n 10 -o g.bloom", stdin="a\n")
    c.run("add --memory 2MB g.bloom", stdin="b\n", code=2,
          stderr=has("--memory limits scalable filters; g.bloom is blocked and does not grow"))


@case
def plan_says_what_it_will_cost(c):
    c.run("plan --kind scalable -n 1M -p 0.01",
          stdout=has("* scalable", "build -n 1000000 -p 0.01 --kind scalable"))
    c.run("plan -n 1M -p 0.01 --grow-to 100M",
          stdout=has("Layers at 100,000,000 keys:", "     7      64,000,000 ", "at a rate under 1 in 100"))
    plan = json.loads(c.run("plan -n 500 -p 0.01 --grow-to 60k --json", stdout=has("{"))[0])
    c.run("build -q --kind scalable -n 500 -p 0.01 -o f.bloom", stdin=KEYS)
    chain = inspect(c, "f.bloom")["chain"]
    c.expect([layer["bytes"] for layer in plan["layers"]] == [layer["bytes"] for layer in chain] and
             [layer["rate"] for layer in plan["layers"]] == [layer["planned_rate"] for layer in chain],
             f"{plan['layers']} is not what became of it: {chain}")
    c.run("plan --kind scalable -n 1M --grow-to 50T", code=2,
          stderr=has("grows to ", " keys, not to 50,000,000,000,000"))
    c.run("plan --kind scalable -p 0.01 --memory 1MiB", code=2, stderr=has("planned by -n and -p"))
    c.run("plan --kind blocked -n 10 --grow-to 100", code=2, stderr=has("others do not grow"))
    c.run("plan --kind scalable -n 10 -p 1e-13", code=2, stderr=has("1e-12"))


main()
