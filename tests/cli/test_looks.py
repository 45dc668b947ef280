# SPDX-License-Identifier: Apache-2.0
"""What a file that is not a Bloomery filter seems to be: reported, and never assumed."""

import base64
import gzip
import json
import os
import pickle
import struct
import subprocess

from runner import case, has, main, own_size

VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "vectors", "dialect")
LIST = b"These formats carry no signature:"


def vectors(name):
    path = os.path.join(VECTORS, name + ".json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["filters"]
    with gzip.open(path + ".gz") as file:
        return json.load(file)["filters"]


def data_of(vector):
    """The bytes of a filter's file, where the vectors have them whole."""
    for field in ("file_b64", "writeTo_b64", "tofile_b64"):
        if vector.get(field):
            return base64.b64decode(vector[field])
    for field in ("writeTo_hex", "filter_db_hex", "filter_hex"):
        if vector.get(field):
            return bytes.fromhex(vector[field])
    if vector.get("scandump"):
        return b"".join(bytes.fromhex(chunk["data_hex"]) for chunk in vector["scandump"])
    return None


@case
def a_dump_of_redisbloom_with_a_seed_is_reported(c):
    """As the release after 8 writes it: read with the usual seed, which changes nothing, else named."""
    whole = next(data_of(vector) for vector in vectors("redisbloom") if vector.get("scandump"))
    end = 20 + 53 * struct.unpack_from("<I", whole, 8)[0]
    options, = struct.unpack_from("<I", whole, 12)
    for seed in (0xc6a4a7935bd1e995, 123):
        c.file("f.bf", whole[:12] + struct.pack("<I", options | 1 << 31) + whole[16:end] + struct.pack("<Q", seed) + whole[end:])
        c.run("inspect f.bf", code=2, stderr=has("this looks like a filter of redisbloom", "say --dialect redisbloom"))
        if seed == 123:
            c.run("inspect --dialect redisbloom f.bf", code=2, stderr=has("of a later release of RedisBloom, with a seed (123)"))
        else:
            c.run("inspect --dialect redisbloom f.bf", stdout=None, stderr=None)


@case
def files_of_other_systems_are_detected_by_their_structure(c):
    """Also by the commands that read no other system's files; and nothing is opened so."""
    for name, dialect, fewest in (("dcso", "dcso", 4), ("guava", "guava", 5), ("spark", "spark", 4),
                                  ("redisbloom", "redisbloom", 5), ("bits_and_blooms", "bits-and-blooms", 4),
                                  ("cassandra", "cassandra", 4), ("pybloom_live", "pybloom-live", 6),
                                  ("rocksdb", "rocksdb", 5)):
        done = 0
        for vector in vectors(name):
            data = data_of(vector)
            if data is None or len(data) < 40 or vector.get("m") == 0:
                continue
            done += 1
            c.file("f.bf", data)
            told = has("not a Bloomery filter", "this looks like a filter of " + dialect, "say --dialect " + dialect)
            c.run("inspect f.bf", code=2, stderr=told)
            c.run("query -k x f.bf", code=2, stderr=told)
            if done == 1:
                c.run("add f.bf", stdin="x\n", code=2, stderr=told)
                c.run("compare f.bf f.bf", code=2, stderr=told)
                c.run("merge -o m.bloom f.bf f.bf", code=2, stderr=told)
                c.run("convert --to guava -o m.bloom f.bf", code=2, stderr=has("say --from " + dialect))
                c.run("fold -o m.bloom f.bf", code=2, stderr=has("this looks like", "convert --from " + dialect))
                c.expect(c.read("f.bf") == data and "m.bloom" not in c.names(), f"{dialect}: opened on a guess")
        c.expect(done >= fewest, f"{name}: only {done} vectors")


@case
def a_file_read_as_another_dialect_is_reported(c):
    with open(os.path.join(VECTORS, "dcso_sample.bloom"), "rb") as file:
        c.file("f.bf", file.read())
    c.run("inspect --dialect guava f.bf", code=2, stderr=has("this looks like a filter of dcso", "--dialect dcso"))
    c.run("query -k x --dialect guava f.bf", code=2, stderr=has("this looks like a filter of dcso"))
    c.run("convert --from guava -o o.bloom f.bf", code=2, stderr=has("say --from dcso"))
    c.file("f.bf", c.read("f.bf")[:60])
    _, stderr = c.run("inspect --dialect dcso f.bf", code=2, stderr=None)
    c.expect(b"this looks like" not in stderr, f"it looks like what it was read as: {stderr}")


@case
def a_file_of_another_length_is_not_a_filter_of_pybloom(c):
    whole = next(data_of(vector) for vector in vectors("pybloom_live") if not vector.get("filters") and data_of(vector))
    c.file("f.bf", whole)
    c.run("inspect f.bf", code=2, stderr=has("this looks like a filter of pybloom-live"))
    for data in (whole[:-1], whole + b"x", whole[:len(whole) // 2]):
        c.file("f.bf", data)
        _, stderr = c.run("inspect f.bf", code=2, stderr=None)
        c.expect(b"pybloom-live" not in stderr.split(LIST)[0], f"{len(data)} bytes: {stderr}")


@case
def compressed_files_are_detected_too(c):
    with open(os.path.join(VECTORS, "dcso_sample.bloom"), "rb") as file:
        c.file("f.gz", gzip.compress(file.read()))
    c.run("inspect f.gz", code=2, stderr=has("this looks like a filter of dcso"))
    c.file("t.gz", gzip.compress(bytes(range(256)) * 4))
    _, stderr = c.run("inspect t.gz", code=2, stderr=None)
    c.expect(LIST in stderr, f"{stderr}")


@case
def text_in_place_of_a_filter_is_named(c):
    """What grep -f takes: a list of lines."""
    said = has("this looks like text. 'bloomery build -o FILTER' makes a filter of its lines, and 'bloomery dedupe "
               "--against' takes it as it is")
    for data in (b"a\n", b"a line\r\n" * 50, "größe\t€\n".encode() * 50, "é".encode() * 200, gzip.compress(b"some text\n" * 100)):
        c.file("f", data)
        c.file("keys", "a\n")
        for line in ("query f keys", "inspect f", "add f keys", "merge -o g f f"):
            c.run(line, code=2, stderr=said)
    for data in (b"a\xff\n" * 50, b"\xc3" * 200, b"a\0b\n", b"x"):
        c.file("f", data)
        _, stderr = c.run("query f keys", code=2, stderr=None)
        c.expect(b"looks like text" not in stderr, f"{data[:8]}: {stderr}")


def java_object(class_name):
    return b"\xac\xed\0\5sr" + struct.pack(">H", len(class_name)) + class_name + bytes(60)


@case
def formats_that_are_not_read_are_named(c):
    guava = java_object(b"com.google.common.hash.BloomFilter$SerialForm")
    # Flags, capacity, rate, probes, keys, no cache, one bucket of 4096 bytes.
    poppy = struct.pack("<QQdQQQQ", 2, 1000, 0.001, 10, 3, 0, 1) + bytes(4096)
    for data, words in ((guava, ("Java serialized", "BloomFilter$SerialForm", "writeTo")),
                        (poppy, ("Poppy's own format, version 2",)),
                        (b"SQLite format 3\0" + bytes(100), ("a SQLite database",)),
                        (b"PAR1\x15\4" + bytes(100), ("a Parquet file",))):
        c.file("f", data)
        c.run("inspect f", code=2, stderr=has("this looks like ", *words))
    c.file("f", guava)
    c.run("query -k x --dialect guava f", code=2, stderr=has("strategy 172 does not exist", "Java serialized"))
    c.file("f", poppy)
    c.run("inspect --dialect dcso f", code=2, stderr=has("version 1, not 2", "Poppy's own format"))
    c.file("f", java_object(b"java.util.BitSet"))
    c.run("inspect f", code=2, stderr=has("java.util.BitSet", "say --dialect sha384-slices,variant=java"))


@case
def what_has_no_mark_is_not_guessed(c):
    """Noise, and filters that are nothing but bits."""
    for data in (bytes(range(256)) * 4, bytes(4096), b"x", b"\0" * 8):
        c.file("f", data)
        _, stderr = c.run("inspect f", code=2, stderr=None)
        c.expect(LIST in stderr and b"this looks like" not in stderr, f"{data[:8]}: {stderr}")


@case
def damaged_bloomery_files_name_no_other_system(c):
    c.run("build -q -n 100 -o f.bloom", stdin="a\nb\n", stderr=None)
    whole = c.read("f.bloom")
    for data in (whole[:-100], whole[:7], whole[:20], whole + b"more", b"", whole[:64] + bytes(len(whole) - 64),
                 whole[:8] + b"\7" + whole[9:]):
        c.file("f.bloom", data)
        for line in ("compare f.bloom f.bloom", "inspect f.bloom", "inspect --verify f.bloom", "query -k x f.bloom", "fold -o g.bloom f.bloom",
                     "convert --to guava -o g.bf f.bloom", "merge -o g.bloom f.bloom f.bloom"):
            stdout, stderr = c.run(line, code=None, stdout=None, stderr=None)
            text = stdout + stderr
            for word in (b"dialect", b"another system", b"looks like", b"guava"):
                c.expect(word not in text, f"{line} of {len(data)} bytes: {text}")


@case
def names_of_dialects_may_be_written_as_their_systems_do(c):
    for name in ("DCSO", "Dcso", "Guava", "Bits_and_Blooms", "pybloom_live"):
        made = subprocess.run(c.arguments(f"build -q --force --dialect {name} -n 100 -p 0.01 -o f.bf"),
                              cwd=c.directory, input=b"a\n", capture_output=True, timeout=100, check=False)
        if made.returncode != 0 and b"libcrypto" in made.stderr:  # a build without
            continue
        c.expect(made.returncode == 0, f"{name}: {made.stderr}")
        c.run(f"query --dialect {name} f.bf", stdin="a\n", stdout="a\n")
    c.run("inspect --dialect DCSOS f.bf", code=2, stderr=has("unknown dialect 'DCSOS'"))


@case
def a_name_of_a_packed_file_is_warned_of(c):
    """What is written under it is not packed."""
    said = "bloomery: build: warning: f.{}: is written uncompressed, whatever its name says\n"
    for ending in ("gz", "zst", "xz", "bz2"):
        c.run(f"build -q -n 9 --dialect dcso -p 0.01 -o f.{ending}", stdin="a\n", stderr=has(said.format(ending)))
        c.run(f"query --dialect dcso f.{ending}", stdin="a\n", stdout="a\n")
        c.run(f"build -q --force -n 9 -o f.{ending}", stdin="a\n", stderr=said.format(ending))
    c.run("merge -q -o m.gz f.gz", stderr=has("m.gz: is written uncompressed"))
    c.run("build -q -n 9 -o gz", stdin="a\n")
    c.run("build -q -n 9 -o f.gz.bloom", stdin="a\n")


@case
def files_that_are_not_filters_are_named_by_inspect(c):
    """Where a person takes one of these for a filter, what it is says what to do."""
    for name, content in (("a dump of a Redis server (RDB)", b"REDIS0010\xfa\x09redis-ver\x067.0.15"),
                          ("a pickled Python object", pickle.dumps({"filter": b"\0" * 100})),
                          ("a Feather file of version 1", b"FEA1\0\0\0\0" + bytes(90) + b"FEA1")):
        c.file("odd", content)
        for line in ("inspect odd", "query -k a odd"):
            c.run(line, code=2, stderr=has(f"this looks like {name}\n"))


@case
def a_file_that_its_head_refuses_is_not_read_whole(c):
    """The memory of a command that says why stays small, whatever the dialect; the file is a hole."""
    own_size()
    most = 200 << 20
    c.file("hole", "")
    os.truncate(c.path("hole"), most)
    listed = json.loads(c.run("dialects --json", stdout=None)[0])["dialects"]
    names = [dialect["name"] for dialect in listed if dialect["reads"]]
    c.expect(len(names) > 10, f"{names}")
    for name in names:
        process = c.start(f"inspect --dialect {name} hole")
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        c.expect(process.returncode == 2 and b"hole: " in said, f"{name}: {process.returncode} {said}")
        c.expect(used.ru_maxrss << 10 < most // 2, f"{name}: {used.ru_maxrss} KiB of memory")


if __name__ == "__main__":
    main()
