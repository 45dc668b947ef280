# SPDX-License-Identifier: Apache-2.0
"""The real libbloom, and the real example of bitarray, where Debian's packages of them are installed: the same
parameters and keys, the same bits. BLOOMERY_LIVE_LIBBLOOM names the program that was built with libbloom;
Guava, LevelDB and RocksDB have such tests beside their own."""

import json
import os
import random
import subprocess

from dialect import HERE, Driver, Skip, hexed, main, needs_digests, property_test

EXAMPLE = "/usr/share/doc/python3-bitarray/examples/bloom.py"
PYTHON = "/usr/bin/python3"


class OnAString:
    """A program: a line to it, a line from it."""

    def __init__(self, *words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # pylint: disable=consider-using-with

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def say(self, *words):
        """A line, and its answer."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().rstrip("\n")


def libbloom():
    """The program with libbloom in it."""
    path = os.environ.get("BLOOMERY_LIVE_LIBBLOOM")
    if not path:
        raise Skip("libbloom-dev is not installed")
    return OnAString(path)


def keys_of(rng, count):
    """Byte strings of all lengths up to 40 and some longer; repeats are likely among the short ones."""
    return [rng.randbytes(rng.choice([rng.randint(0, 3), rng.randint(0, 40), rng.randint(50, 300)])) for _ in range(count)]


@property_test
def libbloom_makes_the_same_bits(check):
    rng = random.Random(11)
    with libbloom() as real, Driver() as driver:
        if not real.say("version").startswith("1."):
            raise Skip("another release than 1.6")
        for number in range(40):
            entries = rng.choice([1000, 1001, 4096, rng.randint(1000, 20000), rng.randint(1000, 200_000)])
            rate = rng.choice([0.5, 0.25, 0.125, 0.01, 0.001, 1e-6, 1e-12, 10 ** rng.uniform(-9, -0.01)])
            keys, absent = keys_of(rng, rng.choice([0, 1, 500, 2000])), keys_of(rng, 500)
            bits, size, probes = map(int, real.say("create", entries, repr(rate)).split())
            driver.create("libbloom", variant="1.6", keys=entries, rate=rate)
            info = driver.info()
            check.equal((int(info["bits"]), int(info["probes"])), (bits, probes), f"{number}: {entries} {rate}")
            check.equal(driver.add_all(keys), real.say("add", *map(hexed, keys)), f"{number}: what add says")
            theirs = bytes.fromhex(real.say("bits"))
            check.equal((len(theirs), driver.written()), (size, theirs), f"{number}: the bits of {entries} {rate}")
            driver.load("libbloom", theirs, variant="1.6", keys=entries, rate=rate)
            check.equal(driver.ask_all(absent + keys), real.say("ask", *map(hexed, absent + keys)), f"{number}: answers")


@property_test
def libbloom_refuses_the_same_sizes(check):
    with libbloom() as real, Driver() as driver:
        for entries, rate in ((999, 0.01), (1, 0.5), (1000, 0.0)):
            check.equal(real.say("create", entries, rate), "no", f"{entries} {rate}")
            check.refused(lambda n=entries, p=rate: driver.create("libbloom", variant="1.6", keys=n, rate=p),
                          ["BAD_ARGUMENT"], f"{entries} {rate}")


def texts_of(rng, count):
    """Texts of all sorts of characters, and numbers."""
    def text():
        letters = rng.choice(["abc/.:0123", "\u00e9\u4e2d\U0001f600 ", "".join(map(chr, range(1, 300)))])
        return "".join(rng.choice(letters) for _ in range(rng.randint(0, 30)))
    return [rng.choice([text(), rng.randint(-10 ** 20, 10 ** 20), rng.randint(0, 99)]) for _ in range(count)]


def bytes_of(keys):
    """What the example hashes."""
    return [str(key).encode() for key in keys]


@property_test
@needs_digests
def bitarrays_example_makes_the_same_bits(check):
    if not os.path.exists(EXAMPLE) or not os.path.exists(PYTHON):
        raise Skip("python3-bitarray is not installed, or without its documentation")
    rng = random.Random(12)
    with OnAString(PYTHON, os.path.join(HERE, "live_bitarray.py"), EXAMPLE) as real, Driver() as driver:
        for number in range(60):
            count = rng.choice([1, 2, 10, 300])
            rate = rng.choice([0.9, 0.5, 0.25, 0.1, 0.01, 1e-6, 1e-15, 10 ** rng.uniform(-12, -0.01)])
            given = {"n": rng.choice([count, 1, 5000]), "p": rate, "keys": texts_of(rng, count), "asked": texts_of(rng, 300)}
            answer = real.say(json.dumps(given))
            if not answer:
                raise Skip("the example does not run: is it for this Python?")
            made = json.loads(answer)
            driver.create("md5-chain", variant="e", keys=given["n"], rate=rate)
            info = driver.info()
            what = f"{number}: {given['n']} {rate}"
            check.equal((int(info["bits"]), int(info["probes"])), (made["m"], made["k"]), what)
            keys = bytes_of(given["keys"])
            check.equal([driver.positions(key) for key in keys], made["positions"], f"{what}: positions")
            driver.add_all(keys)
            check.equal(driver.written().hex(), made["bits"], f"{what}: bits")
            driver.load("md5-chain", bytes.fromhex(made["bits"]), variant="e", bits=made["m"], probes=made["k"])
            asked = bytes_of(given["asked"])
            check.equal(driver.ask_all(asked), "".join(map(str, made["answers"])), f"{what}: answers")


main()
