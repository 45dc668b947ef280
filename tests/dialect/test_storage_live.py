# SPDX-License-Identifier: Apache-2.0
"""LevelDB and RocksDB themselves, where Debian's libraries of them are installed: the same keys, the same bytes, and each
side believes the other's filters. BLOOMERY_LIVE_LEVELDB and BLOOMERY_LIVE_ROCKSDB name the programs."""

import os
import random
import struct
import subprocess

from dialect import Driver, Skip, hexed, main, property_test, times


def program(name):
    """The one of these that was built."""
    path = os.environ.get("BLOOMERY_LIVE_" + name)
    if not path:
        raise Skip(f"lib{name.lower()}-dev is not installed")
    return path


def draw(rng, count):
    """Different keys, of lengths up to 60 and some longer, in order."""
    keys = set()
    while len(keys) < count:
        keys.add(rng.randbytes(rng.choice([rng.randint(1, 20), rng.randint(1, 60), rng.randint(100, 3000)])))
    return sorted(keys)


class LevelDb:
    """The library on its string."""

    def __init__(self):
        self.process = subprocess.Popen([program("LEVELDB")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # pylint: disable=consider-using-with

    def say(self, *words):
        """A line, and its answer."""
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def close(self):
        """Ends the program."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


@property_test
def leveldb_builds_and_believes_the_same_filters(check):
    rng = random.Random(5)
    leveldb = LevelDb()
    with Driver() as driver:
        for count, bits_per_key in [(0, 10), (1, 1), (3, 100), (60, 43), (900, 10)] + [(rng.randrange(300), rng.randint(1, 60))
                                                                                      for _ in range(20)]:
            keys = draw(rng, count) + ([b""] if count % 2 else [])
            absent = [rng.randbytes(9) for _ in range(500)]
            theirs = leveldb.say("build", str(bits_per_key), *map(hexed, keys))
            driver.create("leveldb", keys=len(keys), bits_per_key=bits_per_key)
            driver.add_all(keys)
            ours = driver.written()
            check.equal(ours.hex(), theirs, f"{len(keys)} keys, {bits_per_key} bits")
            check.equal(driver.ask_all(keys + absent), leveldb.say("ask", theirs, *map(hexed, keys + absent)), "answers")
            # Filters that it does not make itself.
            for data in [rng.randbytes(33), rng.randbytes(90) + bytes([rng.randint(1, 30)]), rng.randbytes(4) + b"\x1f"]:
                if data[-1] == 0:
                    continue
                driver.load("leveldb", data)
                check.equal(driver.ask_all(absent), leveldb.say("ask", data.hex(), *map(hexed, absent)), data.hex())
    leveldb.close()


# ---- A table of RocksDB's ----------------------------------------------------------------------

def number(data, at):
    """Seven bits a byte; and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def entries(block):
    """Names and values of a block: names without what they share with the one before."""
    end = len(block) - 4 - 4 * struct.unpack("<I", block[-4:])[0]
    at, name = 0, b""
    while at < end:
        shared, at = number(block, at)
        own, at = number(block, at)
        size, at = number(block, at)
        name = name[:shared] + block[at:at + own]
        yield name, block[at + own:at + own + size]
        at += own + size


def filter_of(table):
    """The filter block of a table: the footer tells where the index of such blocks is."""
    footer = table[-53:]
    start, at = number(footer, 1)
    size, at = number(footer, at)
    for name, handle in entries(table[start:start + size]):
        if name.startswith(b"fullfilter."):
            start, at = number(handle, 0)
            size, at = number(handle, at)
            return table[start:start + size]
    return b""


@property_test
def rocksdb_builds_the_same_filters(check):
    rng = random.Random(6)
    tool = program("ROCKSDB")
    rows = [(1, 10.0), (3, 0.5), (60, 99.995), (500, 1.0), (2000, 10.0), (777, 9.9)]
    rows += [(rng.randrange(1, 900), rng.uniform(0.5, 60)) for _ in range(times(4, 14))]
    with Driver() as driver:
        for count, bits_per_key in rows:
            keys = draw(rng, count)
            for version, variant in [(5, "fast"), (4, "legacy")]:
                path = driver.path("table.sst")
                subprocess.run([tool, path, str(version), repr(bits_per_key)], check=True, text=True,
                               input="".join(key.hex() + "\n" for key in keys))
                with open(path, "rb") as file:
                    theirs = filter_of(file.read())
                check.true(len(theirs) > 5, "a table without a filter")
                driver.create("rocksdb", variant=variant, keys=count, bits_per_key=bits_per_key)
                driver.add_all(keys)
                check.equal(driver.written().hex(), theirs.hex(), f"{variant} {count} keys, {bits_per_key} bits")
                driver.load("rocksdb", theirs)
                check.equal((driver.info()["variant"], driver.ask_all(keys)), (variant, "1" * count), "read")


main()
