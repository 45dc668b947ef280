# SPDX-License-Identifier: Apache-2.0
"""Files, bytes, views, pickles: what one program saves the other reads, and damage has its exception."""

import array
import copy
import gc
import mmap
import os
import pathlib
import pickle
import subprocess
import sys
import weakref

import bloomery
from bloomery import Filter
from optional import raises
from runner import case, keyed, main

KEYS = [f"key {i}" for i in range(2000)]


class Named(Filter):
    """A subclass with an attribute."""


@case
def saved_here_is_read_by_the_command_and_back(c):
    f = Filter(2000, 0.01)
    f.add_many(KEYS)
    f.save(c.path("f.bloom"))
    c.file("keys", "".join(key + "\n" for key in KEYS))
    c.run("query -c f.bloom keys", stdout="2000\n")
    c.run("build -q -n 2000 -p 0.01 -o g.bloom keys")
    c.expect(c.read("g.bloom") == c.read("f.bloom") == f.to_bytes(), "other bytes than the command's")
    g = Filter.open(c.path("g.bloom"))
    c.expect(g == f and g.mapped and not g.writable and g.adds == 2000, f"{g}")
    with raises(c, bloomery.ReadOnly):
        g.add("x")
    h = Filter.open(pathlib.Path(c.path("g.bloom")), copy=True, verify=True)
    h.add("x")
    c.expect("x" in h and Filter.open(os.fsencode(c.path("g.bloom"))) == f, "copy, or a path of bytes")
    c.file("numbers", "".join(f"{i}\n" for i in range(2000)))
    c.run("build -q --kind static --int64 -o n.bloom numbers")
    n = Filter.open(c.path("n.bloom"))
    c.expect(n.count_many(range(2000)) == 2000 and "7" in n, "numbers of the command")


@case
def what_is_wrong_with_a_file_has_its_exception(c):
    f = Filter(100_000)
    f.add("a")
    data = f.to_bytes()
    with raises(c, FileNotFoundError, "no-such") as missing:
        Filter.open(c.path("no-such"))
    c.expect(missing.error.filename == c.path("no-such") and missing.error.errno == 2, "errno, filename")
    with raises(c, (OSError, bloomery.Error)):
        Filter.open(c.directory)
    with raises(c, OSError):
        f.save(c.path("no/such/folder"))
    with raises(c, bloomery.NotAFilter) as other:
        Filter.from_bytes(b"no filter" * 100)
    c.expect(other.error.status == "BLOOMERY_NOT_A_FILTER" and isinstance(other.error, bloomery.Error), "status")
    for cut in (0, 1, 100, len(data) // 2, len(data) - 1):
        with raises(c, (bloomery.Corrupt, bloomery.NotAFilter)):
            Filter.from_bytes(data[:cut])
    with raises(c, bloomery.Corrupt):
        Filter.from_bytes(data + b"x")
    flipped = bytearray(data)
    flipped[-1000] ^= 1
    with raises(c, bloomery.Corrupt) as damage:
        Filter.from_bytes(flipped)
    c.expect(damage.error.offset > 0, f"offset {damage.error.offset}")
    c.file("flipped", bytes(flipped))
    g = Filter.open(c.path("flipped"))  # the payload of a map is not read
    for call in (g.verify, g.copy, g.to_bytes, lambda: Filter.open(c.path("flipped"), verify=True),
                 lambda: Filter.open(c.path("flipped"), copy=True)):
        with raises(c, bloomery.Corrupt):
            call()
    for bad in (5, None, 1.5):
        with raises(c, TypeError):
            Filter.open(bad)
        with raises(c, TypeError):
            Filter.from_bytes(bad)
    with raises(c, ValueError):
        Filter.open("with\0nul")


@case
def pickles_and_copies_are_equal(c):
    for make in (lambda: Filter(2000), lambda: Filter(100, kind="scalable"), lambda: Filter(2000, kind="counting"),
                 lambda: Filter(2000, kind="classic", note="b\xe4"),
                 lambda: Filter(2000, secret="BLOOMERY_TEST_NO_SODIUM" not in os.environ),
                 lambda: Filter.create_dialect("guava", keys=2000, rate=0.01)):
        f = make()
        f.add_many(KEYS)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            g = pickle.loads(pickle.dumps(f, protocol))
            c.expect(g.to_bytes() == f.to_bytes() and g.count_many(KEYS) == len(KEYS), f"{f}, protocol {protocol}")
        for g in (copy.copy(f), copy.deepcopy(f), f.copy()):
            c.expect(g is not f and g.to_bytes() == f.to_bytes() and g.writable, f"{f}: copy")
    buffers = []
    data = pickle.dumps(f, 5, buffer_callback=buffers.append)
    c.expect(len(data) < 500 and len(buffers) == 1, "the bytes are not out of band")
    c.expect(pickle.loads(data, buffers=buffers).to_bytes() == f.to_bytes(), "out of band")
    named = Named(10)
    named.owner = "me"
    again = pickle.loads(pickle.dumps(named))
    c.expect(type(again) is Named and again.owner == "me" and type(named | named) is Named, "subclass")
    before = sys.getrefcount(Named)
    for _ in range(100):
        pickle.loads(pickle.dumps(named)).add("x")
        Named(10).close()
    gc.collect()
    c.expect(sys.getrefcount(Named) - before < 10, "a subclass is kept by its dead objects")
    static = Filter.build(KEYS, kind="static")
    c.expect(pickle.loads(pickle.dumps(static)).count_many(KEYS) == len(KEYS), "static")


@case
@keyed
def a_secret_is_needed_and_never_guessed(c):
    secret = b"0123456789abcdef"
    f = Filter(100, secret=secret)
    f.add("a")
    f.save(c.path("f.bloom"))
    c.expect(f.info().keyed and not f.info().secret_in_file, f"{f.info()}")
    with raises(c, bloomery.SecretNeeded):
        Filter.open(c.path("f.bloom"))
    with raises(c, bloomery.SecretNeeded):
        Filter.open(c.path("f.bloom"), secret=b"x" * 16)
    with raises(c, bloomery.SecretNeeded, "to_bytes"):
        pickle.dumps(f)
    g = Filter.open(c.path("f.bloom"), secret=secret)
    c.expect("a" in g and "b" not in g and g == f, "with the secret")
    c.expect(Filter(10, secret=True) != Filter(10, secret=True), "two random secrets are one")


@case
def views_keep_their_buffer(c):
    f = Filter(2000)
    f.add_many(KEYS)
    f.save(c.path("f.bloom"))
    with open(c.path("f.bloom"), "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    g = Filter.view(memory)
    c.expect(g == f and not g.writable, "view")
    with raises(c, BufferError):
        memory.close()
    g.close()
    memory.close()
    data = bytearray(f.to_bytes())
    with raises(c, ValueError):  # of two neighbouring addresses one is not a multiple of 64
        Filter.view(memoryview(data)[1:])
        Filter.view(memoryview(data)[2:])


def changes(other):
    """What changes a filter, by its name."""
    return {
        "add": lambda f: f.add("x"), "add_many": lambda f: f.add_many(["x"]), "update": lambda f: f.update(["x"]),
        "array": lambda f: f.add_many(array.array("q", range(1000))), "test_and_add_many": lambda f: f.test_and_add_many(["x"]),
        "add_lines": lambda f: f.add_lines(other.lines), "remove": lambda f: f.remove(KEYS[0]),
        "remove_many": lambda f: f.remove_many(KEYS[:2]), "remove an array": lambda f: f.remove_many(array.array("q", range(1000))),
        "merge": lambda f: f.merge(other), "intersect": lambda f: f.intersect(other), "clear": lambda f: f.clear(),
        "|=": lambda f: f.__ior__(other), "&=": lambda f: f.__iand__(other)}


@case
def no_method_changes_a_map_or_a_view(c):
    other = Named(4000, kind="counting")
    other.lines = c.path("lines")
    c.file("lines", "x\n")
    f = Filter(4000, kind="counting")
    f.add_many(KEYS)
    f.save(c.path("f.bloom"))
    data = c.read("f.bloom")
    with open(c.path("f.bloom"), "rb") as file:
        memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    for name, change in changes(other).items():
        for made, remedy in ((Filter.open(c.path("f.bloom")), "copy=True"), (Filter.view(memory), "copy()")):
            with raises(c, bloomery.ReadOnly, remedy) as refused:
                change(made)
            c.expect(refused.error.status == "BLOOMERY_READ_ONLY" and made == f, f"{name}: {refused.error.status}")
            made.close()
        for made in (Filter.open(c.path("f.bloom"), copy=True), Filter.open(c.path("f.bloom")).copy()):
            change(made)
    c.expect(c.read("f.bloom") == data, "the file was changed")
    static = Filter.build(KEYS, kind="static")
    before = static.to_bytes()
    for name, change in changes(static).items():
        adds = "add" in name or name in ("update", "array")
        if name != "add_lines":  # the other one keeps these
            with raises(c, bloomery.ReadOnly if adds else bloomery.Unsupported,
                        "counting" if name.startswith("remove") else "Filter.build"):
                change(static)
    c.expect(static.to_bytes() == before, "a static filter was changed")
    blocked = Filter(10)
    blocked.save(c.path("g.bloom"))
    with raises(c, bloomery.Unsupported, "kind='counting'"):
        Filter.open(c.path("g.bloom")).remove("x")


@case
def closed_filters_and_forgotten_ones_give_their_memory_back(c):
    f = Filter(1000)
    with f as same:
        c.expect(same is f and not f.closed, "with")
    c.expect(f.closed and "closed" in repr(f), "it is open")
    for call in (lambda: "a" in f, lambda: f.add("a"), lambda: f.add_many(["a"]), f.info, f.to_bytes, f.clear, f.copy,
                 lambda: f.kind, lambda: bool(f), lambda: f.merge(Filter(1000)), lambda: Filter(1000).merge(f)):
        with raises(c, ValueError, "closed"):
            call()
    f.close()
    g = Filter(1000)
    ended = []
    reference = weakref.ref(g, ended.append)
    c.expect(reference() is g and sys.getsizeof(g) > g.nbytes, "weak reference, size")
    del g
    gc.collect()
    c.expect(len(ended) == 1, "it was not freed")
    with raises(c, TypeError, "unhashable"):
        hash(f)


@case
def other_systems_filters_are_read_and_written(c):
    names = {dialect.name for dialect in bloomery.dialects()}
    c.expect({"guava", "redisbloom", "parquet", "spark"} <= names, f"{names}")
    clickhouse = next(dialect for dialect in bloomery.dialects() if dialect.name == "clickhouse")
    c.expect(clickhouse.load_needs == "probes" and "bytes" in clickhouse.create_takes.split(", "), f"{clickhouse}")
    f = Filter.create_dialect("guava", keys=2000, rate=0.01)
    f.add_many(KEYS)
    data = f.to_dialect()
    f.save_dialect(c.path("f.bf"))
    c.expect(c.read("f.bf") == data, "bytes of the file")
    c.file("keys", "".join(key + "\n" for key in KEYS))
    c.run("query -c --dialect guava f.bf keys", stdout="2000\n", stderr=None)
    g = Filter.from_dialect("guava", data)
    c.expect(g.dialect == "guava" and g == f and g.count_many(KEYS) == len(KEYS), f"{g}")
    bloomery.convert(c.path("f.bf"), c.path("f.bloom"), read_as="guava")
    c.expect(Filter.open(c.path("f.bloom")) == f, "converted")
    bloomery.convert(c.path("f.bloom"), c.path("g.bf"), to="guava")
    c.expect(c.read("g.bf") == data, "converted back")
    with raises(c, ValueError, "dialects()"):
        Filter.from_dialect("nonsense", data)
    with raises(c, bloomery.Mismatch):
        Filter(10).to_dialect("guava")
    with raises(c, (bloomery.Error, ValueError)):
        Filter.from_dialect("guava", data[:-1])
    with raises(c, TypeError):
        Filter.create_dialect("guava", colour=5)


@case
def importing_is_quick_and_loads_no_other_package(c):
    done = subprocess.run([sys.executable, "-c", "import sys; before = set(sys.modules); import bloomery; "
                           "print(*sorted(name for name in set(sys.modules) - before if 'bloomery' not in name))"],
                          capture_output=True, text=True, check=True)
    c.expect(done.stdout.strip() == "", f"it imports {done.stdout}")
    c.expect(bloomery.__version__.count(".") == 2 and not set(bloomery.__all__) - set(dir(bloomery)), "names")


@case
def a_mapped_file_that_is_changed_in_place_is_noticed(c):
    a, b = Filter(20_000, 1e-3, seed=1), Filter(20_000, 1e-3, seed=2)
    a.add_many(range(20_000))
    b.add_many(range(20_000, 40_000))
    c.expect(len(a.to_bytes()) == len(b.to_bytes()), "two files of one size")
    long = Filter(60_000, 1e-3)

    def put(data):
        """Overwrites in place, as cp does."""
        with open(c.path("f"), "r+b") as file:
            file.truncate(0)
            file.write(data)
        os.utime(c.path("f"), ns=(put.time, put.time))
        put.time += 10**9
    put.time = 10**18
    calls = {"many": lambda f: f.contains_many(list(range(10))), "count": lambda f: f.count_many(array.array("q", range(5000))),
             "scan": lambda f: f.info(scan=True), "save": lambda f: f.save(c.path("g")), "bytes": lambda f: f.to_bytes(),
             "copy": lambda f: f.copy(), "lines": lambda f: f.contains_lines(c.path("words")), "estimate": lambda f: f.estimate(),
             "verify": lambda f: f.verify()}
    c.file("words", "1\n2\n")
    for name, call in calls.items():
        for what, data in (("cut short", a.to_bytes()[:100]), ("cut short", b""), ("overwritten", b.to_bytes()), ("overwritten", long.to_bytes())):
            a.save(c.path("f"))
            f = Filter.open(c.path("f"))
            call(f)
            put(data)
            with raises(c, bloomery.Changed, what, "/f was", "rename"):
                call(f)
            f.close()
    a.save(c.path("f"))
    f = Filter.open(c.path("f"))
    put(a.to_bytes())
    c.expect(f.count_many(range(20_000)) == 20_000, "the same bytes once more")
    b.save(c.path("f"))
    c.expect(f.count_many(range(20_000)) == 20_000 and f.info(scan=True).adds == 20_000, "a rename changes nothing")
    os.unlink(c.path("f"))
    c.expect(f.count_many(range(20_000)) == 20_000, "nor does unlink")

    def keys():
        for i in range(5000):
            if i == 3000:
                put(b.to_bytes())
            yield i
    a.save(c.path("f"))
    with raises(c, bloomery.Changed, "overwritten"):
        Filter.open(c.path("f")).contains_many(keys())


main()
