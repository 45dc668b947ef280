# SPDX-License-Identifier: Apache-2.0
"""Static filters by the command: built once, queried, and refused what they can't do."""

import json
import os

from runner import case, has, main


def keys(c, count=20000):
    c.file("keys", "".join(f"key {i}\n" for i in range(count)))


@case
def static_filter_is_built_and_finds_its_keys(c):
    keys(c)
    c.run("build --kind static -p 0.001 -o s.bloom keys",
          stderr=has("wrote s.bloom: 20,000 keys, ", ", 1 in 1,000\n"))
    c.run("query -c -f s.bloom keys", stdout="20000\n")
    info = json.loads(c.run("inspect --json s.bloom", stdout=None)[0])
    c.expect(info["kind"] == "static" and info["live_rate"] <= 0.001, f"{info}")
    c.expect(info["bytes"] * 8 < 20000 * 10.4, f"{info['bytes']} bytes")
    c.run("inspect --verify s.bloom", stdout=has("static: 9 or 10 columns, in 2 layers"))


@case
def order_repeats_and_memory_do_not_change_the_file(c):
    keys(c)
    c.run("build --kind static -p 0.001 -q -o one.bloom keys")
    lines = c.read("keys").splitlines(keepends=True)
    c.file("again", (b"".join(reversed(lines)) + b"".join(lines)).decode())
    c.run("build --kind static -p 0.001 --memory 16MiB --temp . -j 3 -o two.bloom again",
          stderr=has("40,000 records, about 20,000 different keys"))
    c.expect(c.read("one.bloom") == c.read("two.bloom"), "another file")
    c.run("build --kind static -p 0.001 -q -o - again", stdout=c.read("one.bloom"))
    c.expect(sorted(os.listdir(c.path("."))) == ["again", "keys", "one.bloom", "two.bloom"],
             f"{os.listdir(c.path('.'))}")


@case
def empty_input_makes_a_filter_without_keys(c):
    c.file("none", "")
    c.file("some", "a\n")
    c.run("build --kind static -q -o s.bloom none")
    c.run("query -c -f s.bloom some", code=1, stdout="0\n")


@case
def static_filter_says_what_to_do_instead(c):
    keys(c, 100)
    c.run("build --kind static -q -o s.bloom keys")
    c.run("build -q -o b.bloom keys")
    before = c.read("s.bloom")
    c.run("add s.bloom keys", code=2, stderr=has("build it again from all of them"))
    c.run("remove s.bloom keys", code=2, stderr=None)
    c.run("merge -o m.bloom s.bloom s.bloom", code=2, stderr=has("build one from all keys"))
    c.run("fold -o m.bloom s.bloom", code=2, stderr=has("build one from all keys"))
    c.run("compare s.bloom s.bloom", code=2, stderr=has("can't be compared"))
    c.run("convert --kind static -o m.bloom b.bloom", code=2, stderr=has("does not know its keys"))
    c.run("convert --kind blocked -o m.bloom s.bloom", code=2, stderr=has("does not know its keys"))
    c.run("build --kind static --folds 1 -o m.bloom keys", code=2, stderr=has("no folds"))
    c.run("build --temp . -o m.bloom keys", code=2, stderr=has("--temp is for --kind static"))
    c.expect(c.read("s.bloom") == before and not os.path.exists(c.path("m.bloom")), "something changed")


@case
def new_keys_go_into_a_small_filter_beside_it(c):
    keys(c)
    c.file("more", "new 1\nnew 2\n")
    c.file("asked", "key 7\nnew 2\nneither\n")
    c.run("build --kind static -p 1e-6 -q -o list.bloom keys")
    c.run("build --kind scalable -p 1e-6 -q -o delta.bloom more")
    c.run("query -f list.bloom -f delta.bloom asked", stdout="key 7\nnew 2\n")


@case
def failed_build_leaves_the_old_file_and_no_litter(c):
    keys(c, 100)
    c.file("old.bloom", "")
    c.run("build -q --force -o old.bloom keys")
    before = c.read("old.bloom")
    c.run("build --kind static --temp nowhere -o old.bloom keys", code=2, stderr=has("nowhere"))
    c.run("build --kind static --memory 1MiB -o old.bloom keys", code=2, stderr=has("at least 16MiB"))
    c.expect(c.read("old.bloom") == before, "the old file is another")
    c.expect(sorted(os.listdir(c.path("."))) == ["keys", "old.bloom"], f"{os.listdir(c.path('.'))}")


main()
