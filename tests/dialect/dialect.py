# SPDX-License-Identifier: Apache-2.0
"""Filters of other systems, driven by a string of commands, and what the real systems said.

A file of tests imports this, decorates functions and ends with main():

    from dialect import Driver, main, property_test, vectors

    @property_test
    def positions_are_those_of_guava(check):
        driver = Driver()
        driver.create("guava", keys=100, rate=0.1)
        check.equal(driver.positions(b"key"), [1, 2, 3], "key")

    main()

The driver is the program named by BLOOMERY_DIALECT_DRIVER (tests/dialect/driver.c says what it does).
Vectors lie in tests/vectors/dialect, or in the folder BLOOMERY_DIALECT_VECTORS, in files of the same form.
Arguments choose tests by a part of their name.
"""

import base64
import functools
import gzip
import hashlib
import inspect
import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
import traceback
import types

DRIVER = shlex.split(os.environ.get("BLOOMERY_EMULATOR", "")) + [
    os.path.abspath(os.environ.get("BLOOMERY_DIALECT_DRIVER", "build/tests/dialect/driver"))
]
HERE = os.path.dirname(os.path.abspath(__file__))
VECTORS = os.environ.get("BLOOMERY_DIALECT_VECTORS") or os.path.join(HERE, "..", "vectors", "dialect")

TESTS = []


class Failure(Exception):
    """Something is not as it must be."""


class Skip(Exception):
    """This build or machine lacks what the test needs."""


class Refused(Exception):
    """The library said no: status and text."""

    def __init__(self, line):
        super().__init__(line)
        parts = line.split(" ", 2)
        self.status = parts[1]
        self.text = parts[2].strip() if len(parts) > 2 else ""


class Check:
    """Counts what was compared: a test that compared nothing has failed."""

    def __init__(self):
        self.done = 0

    def equal(self, got, wanted, what):
        """Both must be the same."""
        self.done += 1
        if got != wanted:
            raise Failure(f"{what}: {str(got)[:300]} and not {str(wanted)[:300]}")

    def true(self, condition, what):
        """Must hold."""
        self.done += 1
        if not condition:
            raise Failure(what)

    def refused(self, action, statuses, what):
        """The action must be refused with one of these statuses, and a sentence."""
        self.done += 1
        try:
            action()
        except Refused as refused:
            if refused.status.replace("BLOOMERY_", "") not in statuses:
                raise Failure(f"{what}: {refused}") from None
            if len(refused.text) < 10:
                raise Failure(f"{what}: no reason is given: {refused}") from None
            return refused
        raise Failure(f"{what}: not refused")


def hexed(key):
    """A key, given as bytes, as the driver reads it."""
    return key.hex() if key else "-"


class Driver:
    """The program, with one filter at a time."""

    def __init__(self, **environment):
        self.process = subprocess.Popen(  # pylint: disable=consider-using-with
            DRIVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.folder = tempfile.TemporaryDirectory(prefix="bloomery-dialect-")  # pylint: disable=consider-using-with

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """Ends the program, which must end well: leaks and bad accesses are seen here."""
        self.process.stdin.close()
        code = self.process.wait()
        self.folder.cleanup()
        if code != 0:
            raise Failure(f"the driver ended with {code}")

    def path(self, name):
        """A file of this driver."""
        return os.path.join(self.folder.name, name)

    def line(self):
        """A line of its answers."""
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"the driver ended with {self.process.wait()}")
        return answer.rstrip("\n")

    def ask_line(self, *words):
        """One command, one line."""
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        answer = self.line()
        if answer.startswith("error "):
            raise Refused(answer)
        return answer

    @staticmethod
    def parameters(given):
        """name=value words."""
        return [f"{name}={repr(value) if isinstance(value, float) else value}" for name, value in given.items()
                if value is not None]

    def create(self, dialect, **given):
        """An empty filter."""
        self.ask_line("create", dialect, *self.parameters(given))

    def load(self, dialect, data, **given):
        """A filter from bytes."""
        with open(self.path("in"), "wb") as file:
            file.write(data)
        self.ask_line("load", dialect, self.path("in"), *self.parameters(given))

    def peek(self, dialect, data, **given):
        """A filter from bytes, for inspection where its hash is not available."""
        with open(self.path("in"), "wb") as file:
            file.write(data)
        self.ask_line("peek", dialect, self.path("in"), *self.parameters(given))

    def add(self, key):
        """1 where the key was new."""
        return int(self.ask_line("add", hexed(key)))

    def add_hash(self, low, high=0):
        """1 where the hash was new."""
        return int(self.ask_line("add-hash", low, high))

    def add_all(self, keys):
        """A text of 0 and 1."""
        return self.ask_line("add-all", *map(hexed, keys)) if keys else ""

    def ask(self, key):
        """1 where the key may be in the filter."""
        return int(self.ask_line("ask", hexed(key)))

    def ask_all(self, keys):
        """A text of 0 and 1."""
        return self.ask_line("ask-all", *map(hexed, keys)) if keys else ""

    def remove(self, key):
        """1 where the key was removed."""
        return int(self.ask_line("remove", hexed(key)))

    def count(self, key):
        """How often it was added."""
        return int(self.ask_line("count", hexed(key)))

    def add_absent(self, key):
        """1 where the key was new to a cuckoo filter, which then has it."""
        return int(self.ask_line("add-absent", hexed(key)))

    def compact(self):
        """1 where something in a cuckoo filter's tables changed."""
        return int(self.ask_line("compact"))

    def positions(self, key, link=0):
        """In order, repeats included."""
        return [int(word) for word in self.ask_line("positions", hexed(key), link).split()]

    def info(self, scan=False):
        """Facts as a dictionary of texts."""
        return dict(word.split("=", 1) for word in self.ask_line("info", *(["scan"] if scan else [])).split(" "))

    def link(self, number):
        """Facts of a link."""
        return dict(word.split("=", 1) for word in self.ask_line("link", number).split(" "))

    def remarks(self):
        """All remarks."""
        found = []
        while (text := self.ask_line("remark", len(found))) != "none":
            found.append(text)
        return found

    def written(self, dialect=None):
        """The filter's bytes in its dialect."""
        self.ask_line("write", self.path("out"), *([dialect] if dialect else []))
        with open(self.path("out"), "rb") as file:
            return file.read()

    def through_our_file(self):
        """Saves the filter in a Bloomery file and goes on with what is read from it."""
        self.ask_line("save", self.path("ours"))
        self.ask_line("open", self.path("ours"))

    def scandump(self, iterator):
        """A chunk of RedisBloom's: the next iterator, and bytes."""
        following = int(self.ask_line("scandump", iterator, self.path("out")))
        with open(self.path("out"), "rb") as file:
            return following, file.read()

    def loadchunk(self, iterator, data):
        """Takes a chunk of RedisBloom's."""
        with open(self.path("in"), "wb") as file:
            file.write(data)
        self.ask_line("loadchunk", iterator, self.path("in"))

    def sniff(self, data):
        """The name of a dialect, or "none"."""
        with open(self.path("in"), "wb") as file:
            file.write(data)
        return self.ask_line("sniff", self.path("in"))


def vectors(name):
    """A file of vectors; NAME or NAME.gz. A file that BLOOMERY_VECTORS_READ names gets its name."""
    path = os.path.join(VECTORS, name)
    if not os.path.exists(path) and os.path.exists(path + ".gz"):
        path += ".gz"
    if not os.path.exists(path):
        raise Skip(f"no {name} in {VECTORS}")
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    if "BLOOMERY_VECTORS_READ" in os.environ:
        with open(os.environ["BLOOMERY_VECTORS_READ"], "a", encoding="utf-8") as read:
            print(os.path.basename(path), file=read)
    return json.loads(data) if ".json" in name else data


def sha256(data):
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def unbase64(text):
    """Bytes."""
    return base64.b64decode(text)


def hostile(check, dialect, good, statuses=("NOT_A_FILTER", "TRUNCATED", "CORRUPT", "WRONG_VERSION", "UNSUPPORTED",
                                            "BAD_ARGUMENT", "OUT_OF_MEMORY"), header=64, **given):
    """Every truncation near both ends and many others, and flips of every bit of the header: each is refused
    with a sentence, or is a filter that can be asked, and never harms. Returns how many were refused."""
    refused = 0
    cuts = sorted({*range(min(len(good), header + 80)), *range(max(0, len(good) - 80), len(good))})
    rng = random.Random(1)
    with Driver() as driver:
        damaged = [good[:cut] for cut in cuts] + [good + b"x"]
        for bit in range(min(header, len(good)) * 8):
            flipped = bytearray(good)
            flipped[bit // 8] ^= 1 << bit % 8
            damaged.append(bytes(flipped))
        for _ in range(100):
            noise = bytearray(good[:4096])
            for _ in range(rng.randint(1, 8)):
                if noise:
                    noise[rng.randrange(min(len(noise), header))] = rng.choice([0, 1, 127, 128, 255])
            damaged.append(bytes(noise) + good[4096:])
        for data in damaged:
            try:
                driver.load(dialect, data, **given)
                driver.ask_all([b"", b"a", b"some key"])
                driver.add(b"another")
                check.true(driver.ask(b"another") == 1, "an added key is lost")
            except Refused as why:
                refused += 1
                short = why.status.replace("BLOOMERY_", "")
                check.true(short in statuses or short == "FULL", f"{why}")
                check.true(len(why.text) > 10 or short == "FULL", f"no reason is given: {why}")
    return refused


def property_test(function):
    """Makes a function with one argument, a Check, a test."""

    @functools.wraps(function)
    def run():
        check = Check()
        function(check)
        if check.done == 0:
            raise Failure("nothing was compared")
        return check.done

    TESTS.append((function.__name__, run))
    return run


def statistics(function):
    """A count over many keys: left out by BLOOMERY_TEST_STATISTICS=without, and alone with =only."""
    function.statistics = True
    return function


def names_in(code):
    """The names that a function's code uses, and the functions within it."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return set(code.co_names).union(*map(names_in, inner))


def reads_vectors(function, seen=()):
    """Whether a test reads vectors, or a function of its file that it calls; not those that damage what they read."""
    function = inspect.unwrap(function)
    names = names_in(function.__code__)
    if "hostile" in names:
        return False
    called = [function.__globals__.get(name) for name in names if name not in seen]
    return "vectors" in names or any(
        reads_vectors(other, (*seen, *names)) for other in called
        if isinstance(other, types.FunctionType) and other.__globals__ is function.__globals__)


def is_chosen(name, run, wanted):
    """Whether the arguments and the environment want this test; BLOOMERY_TEST_VECTORS=only wants what reads vectors."""
    if os.environ.get("BLOOMERY_TEST_VECTORS") == "only" and not reads_vectors(run):
        return False
    counts = os.environ.get("BLOOMERY_TEST_STATISTICS")
    if counts and (counts == "only") != hasattr(run, "statistics"):
        return False
    return not wanted or any(part in name for part in wanted)


def times(quick, long):
    """How often a loop over random filters is gone through."""
    return long if os.environ.get("BLOOMERY_TEST_LONG") else quick


def needs_digests(function):
    """A test of filters whose hash is of libcrypto: skipped in a build without it."""

    @functools.wraps(function)
    def run(check):
        if os.environ.get("BLOOMERY_TEST_NO_LIBCRYPTO"):
            raise Skip("built without libcrypto")
        function(check)

    return run


def needs_time(function):
    """A test that is too long for the quick tier."""

    @functools.wraps(function)
    def run(check):
        if not os.environ.get("BLOOMERY_TEST_LONG"):
            raise Skip("for the long tier")
        function(check)

    return run


def main():
    """Runs the tests, prints what failed, and a line that is counted."""
    wanted = sys.argv[1:]
    passed = failed = skipped = 0
    for name, run in TESTS:
        if not is_chosen(name, run, wanted):
            continue
        try:
            run()
            passed += 1
        except Skip as why:
            skipped += 1
            print(f"skipped {name}: {why}")
        except Exception as why:  # pylint: disable=broad-exception-caught
            failed += 1
            print(f"FAILED {name}: {why}")
            if not isinstance(why, (Failure, Refused)):
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)
