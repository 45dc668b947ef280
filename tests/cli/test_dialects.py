# SPDX-License-Identifier: Apache-2.0
"""Other systems' filters through the command: build, query, add, inspect and convert, each dialect.

That their bits are those systems' is shown in tests/dialect; here, that the command loses nothing of them,
says what they are, and guesses nothing."""

import gzip
import json
import os
import struct
import subprocess

from runner import SECONDS, Skip, case, has, main

KEYS = "".join(f"key number {i}\n" for i in range(500))
MORE = "".join(f"another {i}\n" for i in range(100))

# What a dialect is to be told besides -n and -p; some take other numbers.
MAKING = {
    "leveldb": ",bits_per_key=10",
    "rocksdb": ",bits_per_key=10",
    "clickhouse": ",seed=7",
    "simple-hash": "",
    "libbloom": "",
}
# These have a form for which -n and -p mean nothing.
UNSIZED = {"simple-hash"}
NO_RATE = {"leveldb", "rocksdb", "redisbloom-cuckoo"} | UNSIZED


def attempt(c, line):
    """Runs what may fail: (stdout, stderr, exit code)."""
    done = subprocess.run(c.arguments(line), cwd=c.directory, capture_output=True, timeout=SECONDS, check=False,
                          stdin=subprocess.DEVNULL)
    c.expect(done.returncode in (0, 1, 2), f"{line}: {done.returncode}, {done.stderr}")
    return done.stdout, done.stderr, done.returncode


def dialects(c):
    return json.loads(c.run("dialects --json", stdout=None)[0])["dialects"]


def variants_of(dialect):
    """What to build: NAME[,variant=...]."""
    making = MAKING.get(dialect["name"], "")
    # Some variants are only ways to write or to size; all that can be made are tried.
    variants = dialect["variants"] if "variant" in dialect["making"] else []
    return [dialect["name"] + making] + [f"{dialect['name']},variant={variant}{making}" for variant in variants]


def build_line(name, output, more=""):
    plain = name.split(",")[0]
    keys = "" if plain in UNSIZED else "-n 1000 "
    rate = "" if plain in NO_RATE else "-p 0.001 "
    return f"build {keys}{rate}--dialect {name} {more} -o {output} keys"


def each(c):
    """(dialect, name to build, what to read it as) of everything that can be made; the file is f.bf."""
    c.file("keys", KEYS)
    done = 0
    for dialect in dialects(c):
        for name in variants_of(dialect):
            output = attempt(c, build_line(name, "f.bf", "--force --json"))
            if output[2] != 0:
                text = output[1].decode()
                if "libcrypto" in text:
                    continue
                c.expect("variant" in name and ("bits and probes" in text or "no sizing" in text or "takes" in text),
                         f"{name}: {text}")
                continue
            done += 1
            yield dialect, name, json.loads(output[0])
    c.expect(done >= 18, f"only {done} were made")


@case
def every_dialect_goes_there_and_back(c):
    for dialect, name, report in each(c):
        read_as = report["read_as"]
        stream = c.read("f.bf")
        c.expect(report["written_bytes"] == len(stream), f"{name}: {report['written_bytes']}, not {len(stream)}")
        c.run(f"query -c --dialect {read_as} f.bf keys", stdout="500\n")
        c.run(f"convert -q --force --from {read_as} -o f.bloom f.bf", stderr=None)
        c.run("query -c f.bloom keys", stdout="500\n")
        c.run(f"convert -q --force --to {dialect['name']} -o g.bf f.bloom", stderr=None)
        c.expect(c.read("g.bf") == stream, f"{name}: other bytes come back")
        c.run(f"convert -q --force --from {read_as} --to {dialect['name']} -o h.bf f.bf", stderr=None)
        c.expect(c.read("h.bf") == stream, f"{name}: other bytes without a file between")
        facts = json.loads(c.run("inspect --json f.bloom", stdout=None)[0])
        same = json.loads(c.run(f"inspect --json --dialect {read_as} f.bf", stdout=None)[0])
        c.expect((facts["dialect"], facts["file_dialect"], same["file_dialect"]) ==
                 (dialect["name"], None, dialect["name"]), f"{name}: {facts}")
        for what in ("variant", "bits", "bits_set", "hash", "probes", "kind", "remarks", "live_rate", "seed"):
            c.expect(facts[what] == same[what], f"{name}: {what} is {facts[what]} and {same[what]}")
        c.expect(same["file_bytes"] == len(stream), f"{name}: its size is {same['file_bytes']}")
        for line in (f"inspect --dialect {read_as} f.bf", "inspect f.bloom", "inspect --verify f.bloom"):
            text = c.run(line, stdout=None)[0].decode()
            c.expect(dialect["note"] in text and facts["hash"] in text, f"{name}: {text}")
            c.expect(text.count("\n  remark ") == len(facts["remarks"]), f"{name}: {text}")


@case
def adding_to_their_files_is_building_with_all(c):
    c.file("more", MORE)
    for dialect, name, report in each(c):
        read_as = report["read_as"]
        os.chmod(c.path("f.bf"), 0o640)
        c.run(f"add -q --dialect {read_as} f.bf", stdin=MORE, stderr=None)
        c.expect(os.stat(c.path("f.bf")).st_mode & 0o777 == 0o640, "the mode changed")
        c.run(build_line(name, "g.bf", "--force -q") + " more", stderr=None)
        added = c.read("f.bf")
        c.expect(added == c.read("g.bf"), f"{name}: other bytes than built with all")
        c.run(f"query -c --dialect {read_as} f.bf keys more", stdout="600\n")
        # Nothing new, nothing changed; a failure changes nothing either.
        c.run(f"add -q --dialect {read_as} f.bf missing", code=2, stderr=has("missing", "nothing was added"))
        c.expect(c.read("f.bf") == added, f"{name}: a failed add changed it")
        # The same in our file, which needs no option.
        c.run(build_line(name, "f.bloom", "--force -q --ours"), stderr=None)
        c.run("add -q f.bloom more", stderr=None)
        c.run(f"convert -q --force --to {dialect['name']} -o h.bf f.bloom", stderr=None)
        c.expect(c.read("h.bf") == added, f"{name}: adding to our file gives other bytes")
    c.expect(not [name for name in c.names() if name.endswith(".tmp")], f"litter: {c.names()}")


@case
def what_is_damaged_is_refused(c):
    for dialect, name, report in each(c):
        read_as, stream = report["read_as"], c.read("f.bf")
        for cut in (0, 1, 5, len(stream) // 2, len(stream) - 1):
            c.file("cut.bf", stream[:cut])
            for line in ("query -q -k x", "inspect"):
                _, stderr, code = attempt(c, f"{line} --dialect {read_as} cut.bf")
                c.expect(code in (0, 1) if not stderr else code == 2, f"{name} cut at {cut}: {code}, {stderr}")
            _, stderr, code = attempt(c, f"convert --from {read_as} -o cut.bloom cut.bf")
            c.expect(code == 2 or b"wrote" in stderr, f"{name} cut at {cut}: {stderr}")
            c.expect(("cut.bloom" in c.names()) == (code == 0), f"{name} cut at {cut}: a file was written")
            if code == 0:
                os.remove(c.path("cut.bloom"))


@case
def formats_with_a_magic_are_recognised_and_others_named(c):
    known, looked_at, met = 0, set(), set()
    for dialect, name, report in each(c):
        met.add(dialect["name"])
        _, stderr, code = attempt(c, "query -c f.bf keys")
        if not dialect["magic"]:
            text = stderr.decode()
            c.expect(code == 2, f"{name}: {code}")
            if "this looks like" in text:
                c.expect(f"say --dialect {dialect['name']}" in text, f"{name}: {text}")
                looked_at.add(dialect["name"])
                c.run("convert --to guava -o x.bf f.bf", code=2,
                      stderr=has("not a Bloomery filter", f"say --from {dialect['name']}"))
                c.run("merge -o x.bloom f.bf f.bf", code=2, stderr=has("this looks like"))
            else:
                c.expect("--dialect NAME says which. These formats carry no signature:" in text and
                         f"{dialect['name']}" in text.split(" carry no signature: ")[1], f"{name}: {text}")
                c.run("convert --to guava -o x.bf f.bf", code=2, stderr=has("not a Bloomery filter", "--from NAME says which"))
            c.expect("x.bf" not in c.names() and "x.bloom" not in c.names(), f"{name}: it was opened on a guess")
            continue
        if code != 0:  # a variant without header
            c.expect("variant" in report["read_as"], f"{name}: {stderr}")
            continue
        known += 1
        for line in ("inspect f.bf", f"convert -q --to {dialect['name']} --force -o g.bf f.bf", "add -q f.bf keys"):
            c.run(line, stdout=None, stderr=None)
        c.expect(c.read("g.bf") == c.read("f.bf"), f"{name}: other bytes")
        c.run("dedupe -c --against f.bf keys", stdout="0\n", stderr=None)
        for line in ("merge", "compare"):  # the files say what they are, or why it can't be
            _, stderr, code = attempt(c, f"{line} {'--force -o m.bf ' if line == 'merge' else ''}f.bf f.bf")
            c.expect(code in (0, 2) and b"is not a filter" not in stderr, f"{name}: {line}: {stderr}")
        for line in ("fold -o m.bloom f.bf", "remove f.bf keys"):
            c.run(line, code=2, stderr=has(f"it is a filter of another system, {dialect['name']}; 'bloomery convert "
                                           f"--from {dialect['name']} -o OUT f.bf' converts it"))
    c.expect(known >= 2, f"only {known} have a magic")
    told = {"guava", "spark", "orc", "cassandra", "rocksdb", "redisbloom", "redisbloom-cuckoo", "dcso",
            "bits-and-blooms"}
    c.expect(looked_at >= told | (met & {"pybloom-live"}),  # its hash is a digest, which a build can do without
             f"only {looked_at} are detected")


@case
def packed_files_are_opened_and_not_overwritten(c):
    c.file("keys", KEYS)
    c.run("build -q -p 0.001 --dialect dcso -o f.bf keys", stderr=None)
    plain = c.read("f.bf")
    packed = c.file("f.gz", gzip.compress(plain))
    c.run("query -c --dialect dcso f.gz keys", stdout="500\n")
    c.run("inspect --dialect dcso f.gz", stdout=has("f.gz: a filter of another system, dcso"))
    c.run("convert -q --from dcso --to dcso -o g.bf f.gz", stderr=None)
    c.run("convert -q --from dcso --to dcso -o h.bf -", stdin=packed, stderr=None)
    c.expect(c.read("g.bf") == plain == c.read("h.bf"), "other bytes")
    c.run("add --dialect dcso f.gz", stdin="new\n", code=2, stderr=has("f.gz: is compressed", "unpack it first"))
    c.expect(c.read("f.gz") == packed, "it was changed")
    c.file("cut.gz", packed[:-9])
    c.run("query -c --dialect dcso cut.gz keys", code=2, stderr=has("cut.gz: the compressed data is cut short"))
    c.run("build -q -n 9 --dialect parquet -o p.bf", stdin="a\n", stderr=None)
    c.file("p.gz", gzip.compress(c.read("p.bf")))
    c.run("query p.gz", stdin="a\nb\n", stdout="a\n")
    c.run("convert -q --from dcso -o - f.gz", stdout=None, stderr=None)


@case
def one_filter_of_several_in_a_file_is_not_written_over_the_others(c):
    filters = []
    for keys in (KEYS, MORE):
        c.run("build -q --force -n 500 --dialect leveldb,bits_per_key=10 -o f.bf", stdin=keys)
        filters.append(c.read("f.bf"))
    offsets = struct.pack("<3I", 0, len(filters[0]), sum(map(len, filters)))
    block = c.file("block", b"".join(filters) + offsets + b"\x0b")
    c.run("query -c --dialect leveldb,variant=block,index=1 block", stdin=MORE, stdout="100\n")
    c.run("add --dialect leveldb,variant=block,index=1 block", stdin="new\n", code=2,
          stderr=has("block: contains more than this filter, and the rest would be lost"))
    c.expect(c.read("block") == block, "the others are lost")
    c.run("convert -q --from leveldb,variant=block,index=1 --to leveldb -o one.bf block")
    c.expect(c.read("one.bf") == filters[1], "another filter")


@case
def nothing_is_overwritten_by_accident(c):
    c.file("keys", KEYS)
    c.file("text", "precious\n")
    build = "build -q -p 0.1 --dialect guava -o"
    c.run(f"{build} f.bf keys")
    stream = c.read("f.bf")
    c.run(f"{build} text keys", code=2, stderr=has("text: exists", "--force overwrites it"))
    c.run(f"{build} f.bf keys", code=2, stderr=has("f.bf: exists, and nothing shows that it is such a filter"))
    c.run("build -q -o o.bloom keys")
    ours = c.read("o.bloom")
    c.run(f"{build} o.bloom keys", code=2, stderr=has("o.bloom: exists and is a Bloomery filter"))
    c.run("convert --from guava -o f.bf f.bf", code=2, stderr=has("-o names the input file"))
    os.link(c.path("f.bf"), c.path("same"))
    c.run("convert --from guava --to guava -o same f.bf", code=2, stderr=has("-o names the input file"))
    c.run("convert --from guava -o text f.bf", code=2, stderr=has("text: exists and is not a whole filter"))
    c.run("convert --to dcso -o new.bf o.bloom", code=2,
          stderr=has("can't be written as dcso", "build one of that dialect from the keys"))
    c.run(f"{build} nowhere/f.bf keys", code=2, stderr=has("nowhere does not exist"))
    c.expect((c.read("text"), c.read("f.bf"), c.read("o.bloom")) == (b"precious\n", stream, ours), "overwritten")
    c.expect("new.bf" not in c.names(), "a file was left")
    # A parquet filter is distinguished from other files, so a new one may replace it.
    c.run("build -q -p 0.1 --dialect parquet -o p.bf keys", stderr=None)
    c.run("build -q -p 0.1 --dialect parquet -o p.bf keys", stderr=None)
    c.run("build -q -p 0.1 --dialect libbloom -n 2000 -o p.bf keys", code=2, stderr=has("and not as such a filter"))
    c.run(f"{build} text --force keys")
    c.run("convert -q --from guava -o f.bf --force f.bf")
    c.run("query -c f.bf keys", stdout="500\n")


@case
def a_write_that_fails_leaves_the_old_file(c):
    c.file("keys", KEYS)
    c.run("build -q -p 0.1 --dialect guava -o f.bf keys")
    stream = c.read("f.bf")
    shell = ["bash", "-c", 'ulimit -f 0; "$@"', "sh", *c.arguments("add --dialect guava f.bf keys2")]
    c.file("keys2", MORE)
    process = c.spawn(shell, stderr=-1)
    _, stderr = process.communicate()
    c.expect(process.returncode == 2 and b"f.bf" in stderr, f"{process.returncode}, {stderr}")
    c.expect(c.read("f.bf") == stream and c.names() == ["f.bf", "keys", "keys2"], f"{c.names()}")


@case
def filters_of_one_system_become_another_s_only_where_bits_mean_the_same(c):
    c.file("keys", KEYS)
    c.run("build -q -n 500 -p 0.01 --dialect guava -o f.bf keys")
    c.run("convert --from guava --to dcso -o g.bf f.bf", code=2,
          stderr=has("can't be written as dcso: ", "; build one of that dialect from the keys"))
    # Sieve hashes and steps as Guava's 64-bit strategy does not; the same bits under another name do fit.
    c.run("build -q -n 500 -p 0.01 --ours --dialect guava -o f.bloom keys")
    c.run("convert --to spark -o g.bf f.bloom", code=2, stderr=has("can't be written as spark"))
    c.expect("g.bf" not in c.names(), "a file was left")


@case
def a_bloomery_filter_keeps_dialect_and_rule(c):
    c.file("keys", "1\n2\n3\n")
    c.run("build -q --dialect guava,bits=640,probes=3 --ours --int64 --note 'from Java' -o f.bloom keys", stderr=None)
    c.run("query f.bloom", stdin="3\n4\n", stdout="3\n")
    c.run("inspect f.bloom", stdout=has("keys made by     int64", "from Java", "guava, variant mitz64"))
    c.run("convert -q --to guava -o f.bf f.bloom")
    c.run("query --dialect guava --int64 f.bf", stdin="3\n4\n", stdout="3\n")
    c.run("query --dialect guava f.bf", stdin="3\n4\n", code=1, stderr=has("hint: no key was found", "--int64"))
    c.run("add -q --dialect guava --int64 f.bf", stdin="4\n")
    c.run("convert -q --from guava --int64 --note back -o g.bloom f.bf")
    c.run("query g.bloom", stdin="4\n5\n", stdout="4\n")
    c.run("inspect g.bloom", stdout=has("keys made by     int64", "note             back"))
    c.run("query --dialect guava f.bloom", stdin="3\n", stdout="3\n")
    c.run("inspect --dialect dcso f.bloom", code=2, stderr=has("is a Bloomery file with a filter of dialect guava"))
    c.run("add --dialect dcso f.bloom keys", code=2, stderr=has("leave --dialect out"))
    c.run("build -q -o o.bloom keys")
    c.run("inspect --dialect dcso o.bloom", code=2, stderr=has("is a Bloomery file; leave --dialect out"))
    # Of several filters each is what it is.
    c.run("query -f o.bloom -f f.bf --dialect guava", stdin="1\n9\n", stdout="1\n")
    c.run("convert --from guava -o x.bloom f.bloom", code=2, stderr=has("f.bloom: is a Bloomery file already"))


@case
def canaries_are_asked_by_the_options_that_say_how(c):
    c.run("build -q --dialect guava,bits=6400,probes=9 --int64 -o f.bf", stdin="17\n18\n")
    c.file("absent", "19\n20\n")
    c.file("present", "18\n19\n")
    c.run("inspect --dialect guava --int64 --canary absent f.bf", stdout=has("none of 2 was found", "keys made by     int64"))
    c.run("inspect --dialect guava --int64 --canary present f.bf", stdout=has("FOUND: 1 of 2", "18"), code=1)
    c.run("inspect --dialect guava --canary present f.bf", stdout=has("none of 2 was found"))
    c.run("convert -q --from guava --int64 -o f.bloom f.bf")
    c.run("inspect --int64 f.bloom", code=2, stderr=has("ours keep their rule"))


@case
def more_keys_than_planned_are_warned_about_in_their_files_too(c):
    c.file("keys", KEYS)
    c.run("build -q -n 100 -p 0.01 --dialect dcso -o f.bf keys", stderr=has("was planned for 100", "build it with a larger -n\n"))


@case
def bad_names_and_parameters_are_refused_with_what_would_do(c):
    c.file("keys", KEYS)
    for value, said in (("guaba", "unknown dialect 'guaba'; did you mean 'guava'?"),
                        ("nonsense", "unknown dialect 'nonsense'; they are guava, "), ("", "unknown dialect ''"),
                        ("guava,bits", "'bits' has no value"), ("guava,bitz=3", "did you mean 'bits'?"),
                        ("guava,bits=", "bits=: it takes a whole number"), ("guava,bits=0", "it takes a whole number"),
                        ("guava,bits=1.5", "it takes a whole number"), ("guava,probes=5G", "1 to 4,294,967,295"),
                        ("guava,rate=0", "it takes a rate"), ("guava,rate=-1", "it takes a rate"),
                        ("guava,n=5,keys=6", "keys is given twice"), ("guava,variant=", "it takes a name"),
                        ("guava," + "x" * 200, "too long"), ("clickhouse,bytes=1XB", "it takes a size"),
                        ("guava,seed=x", "it takes a whole number"), ("guava,zzzzzzz=1", "'bloomery dialects' says")):
        c.run(["build", "--dialect", value, "-o", "f.bf", "keys"], code=2,
              stderr=has("bloomery: build: --dialect", said, "try 'bloomery build --help'"))
    for value, said in (("guava,variant=mitz16", 'variant "mitz16" does not exist'), ("guava,growth=2", "has no use for growth"),
                        ("guava,bits=100", "Guava")):
        c.run(["build", "--dialect", value, "-o", "f.bf", "keys"], code=2, stderr=has(said))
    for options, said in (("-p 0.1 --dialect guava,p=0.1", "the rate is given twice"),
                          ("-n 5 --dialect guava,n=5", "the number of keys is given twice"),
                          ("--kind classic --dialect guava", "--kind is for Bloomery filters"),
                          ("--memory 1M --dialect guava", "--memory is for Bloomery filters"),
                          ("--keyed --dialect guava", "--keyed is for Bloomery filters"),
                          ("--seed 1 --dialect guava", "--seed is for Bloomery filters"),
                          ("--note x --dialect guava", "--note is for Bloomery filters"),
                          ("--folds 1 --dialect guava", "--folds is for Bloomery filters"), ("--ours", "goes with --dialect")):
        c.run(f"build {options} -o f.bf keys", code=2, stderr=has(said))
    c.run("build --dialect guava -p 0.1 -o f.bf", stdin="a\n", code=2,
          stderr=has("standard input: can't be read twice", "with -n"))
    c.run("build --dialect guava -p 0.1 keys", code=2, stderr=has("-o FILE"))
    c.run("build --dialect guava --json -p 0.1 -o - keys", code=2, stderr=has("both want standard output"))
    c.expect(c.names() == ["keys"], f"files were left: {c.names()}")
    c.run("build -q -p 0.1 --dialect guava -o f.bf keys")
    for options, said in (("--from guava --kind blocked", "do one after"), ("", "give --kind blocked"),
                          ("--from guava --to guava,variant=mitz32", "--to takes a name without parameters"),
                          ("--to guava --int64", "options for keys are kept"), ("--to guava --note x", "--note is kept"),
                          ("--kind blocked --note x", "go with --from"), ("--from nothing", "unknown dialect"),
                          ("--from guava --redis-key k", "goes with '--to redisbloom -o -' or '--to redisbloom-cuckoo -o -'")):
        c.run(f"convert {options} -o g.bf f.bf", code=2, stderr=has(said))
    c.run("query --secret-file keys --dialect guava f.bf", code=2, stderr=has("--secret-file is for Bloomery files"))
    c.expect("g.bf" not in c.names(), "a file was left")


@case
def raw_numbers_and_short_names_are_taken(c):
    c.file("keys", KEYS)
    for one, other in (("guava,bits=6400,probes=3", "guava,m=6400,k=3"), ("guava,keys=500,rate=0.01", "guava,n=500,p=1%"),
                       ("clickhouse,bytes=65536,probes=3,seed=18446744073709551615", "clickhouse,size=64KiB,k=3,seed=-1"),
                       ("leveldb,bits_per_key=10", "leveldb,bits-per-key=10"), ("leveldb,bpk=10,n=500", "leveldb,bits_per_key=10")):
        c.run(["build", "-q", "--force", "--dialect", one, "-o", "a.bf", "keys"], stderr=None)
        c.run(["build", "-q", "--force", "--dialect", other, "-o", "b.bf", "keys"], stderr=None)
        c.expect(c.read("a.bf") == c.read("b.bf"), f"{one} is not {other}")
    c.run("build -q --force -n 500 -p 0.01 --dialect guava -o a.bf keys")
    c.run("build -q --force --dialect guava,n=500,p=0.01 -o b.bf keys")
    c.expect(c.read("a.bf") == c.read("b.bf"), "-n and -p are not n and p")
    # Keys are counted where nobody says how many; the rate is the usual one.
    c.run("build -q --force --dialect guava -o a.bf keys")
    c.run("build -q --force --dialect guava,n=500,p=1e-4 -o b.bf keys")
    c.expect(c.read("a.bf") == c.read("b.bf"), "other keys or another rate by default")


@case
def a_chain_that_never_grows_is_shown_as_one_and_takes_no_limit(c):
    c.run("build -q --dialect redisbloom,keys=100,rate=0.01,variant=nonscaling -o f.rb", stdin="a\n", stderr=None)
    c.expect(len(json.loads(c.run("inspect --json f.rb --dialect redisbloom", stdout=None)[0])["chain"]) == 1, "no chain")
    c.run("inspect f.rb --dialect redisbloom", stdout=has("  layers           1\n"))
    c.run("add -q --dialect redisbloom --memory 1M f.rb", stdin="b\n", code=2, stderr=has("does not grow"))


@case
def positions_are_printed(c):
    c.run("build -q --dialect guava,bits=640,probes=4 --ours -n 9 -o f.bloom", stdin="a\n", stderr=None)
    c.run("query --positions f.bloom", stdin="a\nb\n", stdout=None)
    a, b = (line.split("\t") for line in
            c.run("query --positions f.bloom", stdin="a\nb\n", stdout=None)[0].decode().splitlines())
    c.expect(a[1] == "a" and b[1] == "b" and len(a[0].split(" ")) == 4, f"{a}, {b}")
    c.run("convert -q --to guava -o f.bf f.bloom")
    words = c.read("f.bf")[6:]
    bits = {64 * (at // 8) + 8 * (7 - at % 8) + bit for at, byte in enumerate(words) for bit in range(8) if byte >> bit & 1}
    c.expect({int(word) for word in a[0].split(" ")} == bits, f"{a} and {bits}")
    c.run("query --positions -k a f.bloom", stdout=f"{a[0]}\ta\n")
    c.run("query --positions --dialect guava f.bf -0", stdin="a\0b", stdout=f"{a[0]}\ta\0{b[0]}\tb\0")
    c.run("query --positions f.bloom", stdin="", code=1)
    # Of our own kinds too, by their rule.
    c.run("build -q -n 9 --lower -o g.bloom", stdin="a\n")
    upper, lower = c.run("query --positions g.bloom", stdin="A\na\n", stdout=None)[0].decode().splitlines()
    c.expect(upper.split("\t")[0] == lower.split("\t")[0], "the rule was not followed")
    # Of a chain those in each layer.
    c.run("build -q --kind scalable -n 16 -o h.bloom", stdin="".join(f"{i}\n" for i in range(400)))
    layers = json.loads(c.run("inspect --json h.bloom", stdout=None)[0])["layers"]
    lines = c.run("query --positions -k 7 h.bloom", stdout=None)[0].decode().splitlines()
    c.expect([line.split(":")[0] for line in lines] == [str(i) for i in range(layers)] and layers > 2, f"{lines}")
    for options in ("-v", "-c", "-q", "--with-filename", "--counts", "--confirm x"):
        c.run(f"query --positions {options} f.bloom", stdin="a\n", code=2, stderr=has("--positions looks nothing up"))
    c.run("query --positions -f f.bloom -f g.bloom", stdin="a\n", code=2, stderr=has("for one filter"))
    c.run("query --positions --int64 g.bloom", stdin="a\n", code=2, stderr=None)


@case
def several_filters_of_a_dialect_in_bloomery_files(c):
    c.file("keys", KEYS)
    c.file("more", MORE)
    for name, keys in (("a", "keys"), ("b", "more"), ("both", "keys more")):
        c.run(f"build -q --ours --dialect guava -n 600 -p 0.01 -o {name}.bloom {keys}")
    c.run("build -q --ours --dialect guava -n 700 -p 0.01 -o larger.bloom keys")
    c.run("build -q --ours --dialect spark -n 600 -p 0.01 -o spark.bloom keys")
    c.run("merge -q -o m.bloom a.bloom b.bloom")
    c.run("compare -q m.bloom both.bloom")
    c.run("compare a.bloom b.bloom", stdout=None, code=1)
    c.run("merge -o x.bloom a.bloom larger.bloom", code=2, stderr=has("filters of other systems fit only where they are of one size"))
    c.run("merge -o x.bloom a.bloom spark.bloom", code=2, stderr=has("the dialects differ"))
    c.run("compare a.bloom larger.bloom", stdout=None, stderr=None, code=1)
    c.run("fold -o x.bloom a.bloom", code=2, stderr=has("a.bloom: "))
    c.run("fold --memory 100 -o x.bloom a.bloom", code=2, stderr=None)
    c.run("convert --kind blocked -o x.bloom a.bloom", code=2, stderr=None)
    c.expect("x.bloom" not in c.names(), "a file was left")


@case
def dedupe_takes_them_as_seen_and_not_as_state(c):
    c.file("keys", KEYS)
    made = 0
    for dialect in dialects(c):
        name = dialect["name"]
        line = build_line(name + MAKING.get(name, ""), "f.bloom", "-q --force --ours")
        _, stderr, code = attempt(c, line)
        if code != 0 and b"libcrypto" in stderr:
            continue
        made += 1
        c.run("dedupe -q --against f.bloom", stdin="key number 3\nnew line\nkey number 499\nnew line\n", stdout="new line\n")
        before = c.read("f.bloom")
        c.run("dedupe -q --state f.bloom", stdin="a\n", code=2, stderr=has("is a filter of another system"))
        c.expect(c.read("f.bloom") == before, "the state was changed")
    c.expect(made >= 10, f"only {made} were made")


@case
def keys_are_removed_from_counters_of_digests(c):
    c.file("keys", "a\nb\nb\n")
    c.run("build --dialect md5-chain,bits=1000,probes=4,cell_bits=4 -o f.bf keys", code=2, stdout=None, stderr=None)
    _, stderr, code = attempt(c, "build -q --ours --dialect md5-chain,bits=1000,probes=4,cell_bits=4 -o f.bloom keys")
    if b"libcrypto" in stderr:
        raise Skip("this build has no digests")
    c.expect(code == 0 and "f.bf" not in c.names(), f"{code}, {stderr}")
    c.run("query --counts f.bloom", stdin="a\nb\nc\n", stdout="1\ta\n2\tb\n")
    c.run("remove -q f.bloom", stdin="b\na\nz\n")
    c.run("query --counts f.bloom", stdin="a\nb\nc\n", stdout="1\tb\n")
    c.run("remove --strict f.bloom", stdin="b\nb\n", stderr=has("removed 1 key; 1 definitely was not in it"), code=1)
    c.run("query f.bloom", stdin="a\nb\nc\n", code=1, stderr=has("f.bloom: is empty"))


def commands_of(c, out):
    """The words of each command of a stream, four at a time."""
    commands, at = [], 0
    while at < len(out):
        c.expect(out[at:at + 4] == b"*4\r\n", f"no command at {at}")
        at += 4
        words = []
        for _ in range(4):
            end = out.index(b"\r\n", at)
            c.expect(out[at:at + 1] == b"$", f"no string at {at}")
            length = int(out[at + 1:end])
            words.append(out[end + 2:end + 2 + length])
            c.expect(out[end + 2 + length:end + 4 + length] == b"\r\n", f"no end at {at}")
            at = end + 4 + length
        commands.append(words)
    return commands


def expect_chunks(c, chunks, name, stream):
    """They are the file, in pieces: the header, and then bits or slots, each with the place of its end."""
    c.expect(all(words[:2] == [name, b"seen:1"] for words in chunks), "other commands")
    c.expect(b"".join(words[3] for words in chunks) == stream and chunks[0][2] == b"1", "the chunks are not the file")
    end = 1
    for words in chunks[1:]:
        end += len(words[3])
        c.expect(int(words[2]) == end, f"iterator {words[2]}, not {end}")


@case
def redis_commands_are_in_its_protocol(c):
    c.file("keys", KEYS)
    c.run("build -q -n 100 -p 0.01 --dialect redisbloom -o f.bf keys", stderr=None)
    stream = c.read("f.bf")
    out = c.run("convert -q --from redisbloom --to redisbloom --redis-key seen:1 -o - f.bf", stdout=None, stderr=None)[0]
    chunks = commands_of(c, out)
    expect_chunks(c, chunks, b"BF.LOADCHUNK", stream)
    links = struct.unpack_from("<I", stream, 8)[0]
    c.expect(len(chunks) == links + 1 and links >= 3, f"{len(chunks)} chunks, {links} links")
    c.run("build -q -o o.bloom keys")
    c.run("convert -q --to redisbloom --redis-key k -o - o.bloom", code=2, stderr=has("o.bloom: "))
    c.run("build -q -n 100 -p 0.01 --dialect redisbloom --ours -o f.bloom keys", stderr=None)
    c.expect(c.run("convert -q --to redisbloom --redis-key seen:1 -o - f.bloom", stdout=None, stderr=None)[0] == out,
             "another from our file")


@case
def redis_commands_make_cuckoo_filters_too(c):
    c.file("keys", KEYS)
    for parameters, tables in (("", 3), (",slots=4,iterations=500", 1)):
        c.run(f"build -q --force -n {60 if tables > 1 else 20_000_000} --dialect redisbloom-cuckoo{parameters} -o f.cf keys", stderr=None)
        stream = c.read("f.cf")
        convert = "convert -q --from redisbloom-cuckoo --to redisbloom-cuckoo"
        chunks = commands_of(c, c.run(f"{convert} --redis-key seen:1 -o - f.cf", stdout=None, stderr=None)[0])
        expect_chunks(c, chunks, b"CF.LOADCHUNK", stream)
        c.expect(len(chunks) > tables if tables > 1 else [len(words[3]) for words in chunks] == [38, *[16 << 20] * 2], f"{len(chunks)} chunks")
    c.run("build -q -o o.bloom keys")
    c.run("convert -q --to redisbloom-cuckoo --redis-key k -o - o.bloom", code=2, stderr=has("o.bloom: is not a filter of redisbloom-cuckoo"))
    c.run("convert -q --from redisbloom-cuckoo --to redisbloom --redis-key k -o - f.cf", code=2, stderr=has("f.cf: "))


@case
def a_file_larger_than_memory_is_refused_unread(c):
    with open(c.path("huge"), "wb") as file:
        try:
            file.truncate(1 << 43)
        except OSError as why:
            raise Skip("no file of 8 TiB can be made here") from why
    for line in ("query -q -k x --dialect guava huge", "inspect --dialect clickhouse,probes=3 huge",
                 "convert --from dcso -o o.bloom huge", "add --dialect guava huge"):
        c.run(line, stdin="x\n", code=2, stderr=has("huge: is larger than", "half of the memory that it could have: "))


@case
def a_filter_that_is_none_and_no_file_are_refused(c):
    c.file("text", "just text\n" * 100)
    os.mkdir(c.path("folder"))
    for line in ("query --dialect guava missing", "inspect --dialect guava missing", "add --dialect guava missing",
                 "convert --from guava -o o.bloom missing"):
        c.run(line, stdin="", code=2, stderr=has("missing: No such file"))
        c.run(line.replace("missing", "text"), stdin="", code=2, stderr=has("text: "))
        c.run(line.replace("missing", "folder"), stdin="", code=2, stderr=has("folder: "))
    c.run("inspect --verify --dialect parquet text", code=2, stderr=has("text: "))
    c.expect(c.names() == ["folder", "text"], f"{c.names()}")


@case
def the_list_says_what_can_be_done(c):
    text = c.run("dialects", stdout=None)[0].decode()
    rows = dialects(c)
    c.expect(len(rows) >= 18 and len({row["name"] for row in rows}) == len(rows), f"{len(rows)} rows")
    for row in rows:
        line = next(line for line in text.splitlines() if line.startswith(row["name"] + " "))
        letters = "".join(letter if row[name] else "-" for letter, name in
                          zip("rwcm", ("reads", "writes", "creates", "magic")))
        c.expect(line == f"{row['name']:<16} {letters}  {row['note']}", line)
    c.run("dialects guava", code=2, stderr=has("it takes no names"))


@case
def measured_rates_are_those_of_their_bits(c):
    for dialect, name, report in each(c):
        if dialect["name"] == "simple-hash":
            continue  # its rate depends on the keys, which random ones don't show
        _, stderr, code = attempt(c, f"inspect --measure 200k --dialect {report['read_as']} f.bf")
        c.expect(code == 0, f"{name}: {code} {stderr}")


@case
def convert_says_what_the_file_looks_like(c):
    c.run("build -q --dialect dcso -n 9 -p 0.01 -o f.bf", stdin="a\n")
    c.run("convert -o ours.bloom f.bf", code=2,
          stderr=has("give --kind blocked, or --from or --to for another system's file", "this looks like a filter of dcso; if it is, "
                     "say --from dcso"))
    c.run("build -q -n 9 -p 0.01 -o g.bloom", stdin="a\n")
    _, stderr = c.run("convert -o ours.bloom g.bloom", code=2, stderr=None)
    c.expect(b"looks like" not in stderr and b"another system wrote" not in stderr, f"{stderr}")


main()
