# SPDX-License-Identifier: Apache-2.0
"""CF.*: random commands against a model of the filter, byte for byte, with restarts, reloads, rewritten files and a
replica between them; what is passed on, limits, settings and wrong arguments.

BLOOMERY_TEST_LONG: 25 times as many commands.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import random
import sys

from live import HERE, MODULE, Error, Server, as_words, run_beside_a_replica
from runner import case, main

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "reference"))

# pylint: disable=wrong-import-position
from cuckoo_model import Cuckoo

COMMANDS = 600 * (25 if "BLOOMERY_TEST_LONG" in os.environ else 1)
NAMES = [f"c{number}" for number in range(6)]
ITEMS = [f"item {number}".encode() for number in range(250)]
EXPANSIONS = 20
OTHER = ["cf-bucket-size", "4", "cf-initial-size", "5000", "cf-max-iterations", "7", "cf-expansion-factor", "2",
         "cf-max-expansions", "2"]
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
NO_MORE = "Maximum expansions reached"


def dumped(server, name):
    """(header, slots) by CF.SCANDUMP."""
    position, header, slots = 0, b"", b""
    while True:
        position, data = server.ask("CF.SCANDUMP", name, position)
        if position == 0:
            return header, slots
        header, slots = (header, slots + data) if header else (data, slots)


class Model:
    """What the server should have: for each key its filter."""

    def __init__(self, c, server, seed):
        self.c, self.server, self.rnd, self.keys = c, server, random.Random(seed), {}

    def ask(self, expected, *words):
        """A command and its reply."""
        reply = self.server.ask(*words)
        self.c.expect(reply == expected, f"{words}: {reply}, not {expected}")

    def make(self, name):
        """CF.RESERVE."""
        size = self.rnd.choice([1, 2, 2, 3, 4])
        words = {"BUCKETSIZE": size, "MAXITERATIONS": self.rnd.choice([1, 5, 20, 50]), "EXPANSION": self.rnd.choice([0, 1, 1, 2, 3])}
        capacity = self.rnd.choice([2 * size, 16, 60, 100])
        order = [word for pair in self.rnd.sample(sorted(words.items()), len(words)) for word in pair]
        if name in self.keys:
            self.ask("ERR item exists", "CF.RESERVE", name, capacity, *order)
            return
        self.ask("OK", "CF.RESERVE", name, capacity, *order)
        self.keys[name] = Cuckoo(capacity, size, words["MAXITERATIONS"], words["EXPANSION"])

    def insert(self, item, name, only_new):
        """What an added item is replied with by CF.INSERT and CF.INSERTNX."""
        if only_new and self.keys[name].count(item) > 0:
            return 0
        return self.keys[name].insert(item)

    def add(self, name):
        """CF.ADD, CF.ADDNX, CF.INSERT and CF.INSERTNX."""
        items, new = self.rnd.choices(ITEMS, k=self.rnd.choice([1, 1, 3, 30])), self.rnd.random() < 0.3
        if len(self.keys.get(name, Cuckoo(2)).filters) >= EXPANSIONS:
            self.ask(NO_MORE, "CF.ADD", name, items[0])
            self.ask(NO_MORE, "CF.INSERTNX", name, "ITEMS", *items)
            self.server.ask("DEL", name)
            del self.keys[name]
            return
        if name not in self.keys and self.rnd.random() < 0.5:
            self.ask("ERR not found", "CF.INSERT", name, "NOCREATE", "ITEMS", *items)
            return
        several = len(items) > 1
        capacity = ["CAPACITY", 40] if several and self.rnd.random() < 0.5 else []
        if name not in self.keys:
            self.keys[name] = Cuckoo(40 if capacity else 1024)
        expected = [self.insert(item, name, new) for item in items]
        if several:
            self.ask(expected, "CF.INSERTNX" if new else "CF.INSERT", name, *capacity, "ITEMS", *items)
        else:
            self.ask("Filter is full" if expected[0] < 0 else expected[0], "CF.ADDNX" if new else "CF.ADD", name, items[0])

    def look(self, name):
        """CF.COUNT, CF.EXISTS and CF.MEXISTS, also of a key that is not there."""
        items = self.rnd.choices(ITEMS, k=20)
        counts = [self.keys[name].count(item) if name in self.keys else 0 for item in items]
        self.ask([int(count > 0) for count in counts], "CF.MEXISTS", name, *items)
        self.ask(counts[0], "CF.COUNT", name, items[0])
        self.ask(int(counts[0] > 0), "CF.EXISTS", name, items[0])

    def remove(self, name):
        """CF.DEL of some items."""
        for item in self.rnd.choices(ITEMS, k=self.rnd.choice([1, 40])):
            self.ask(self.keys[name].delete(item) if name in self.keys else "Not found", "CF.DEL", name, item)

    def compact(self, name):
        """CF.COMPACT."""
        self.ask("OK" if name in self.keys else "Cuckoo filter was not found", "CF.COMPACT", name)
        if name in self.keys:
            self.keys[name].compact()

    def copy(self, name):
        """COPY, DUMP and RESTORE, SCANDUMP and LOADCHUNK."""
        other, way = self.rnd.choice(NAMES), self.rnd.randrange(3)
        if name not in self.keys or other == name or (way == 2 and self.keys[name].items == 0):
            return
        if way == 0:
            self.ask(1, "COPY", name, other, "REPLACE")
        elif way == 1:
            self.ask("OK", "RESTORE", other, 0, self.server.ask("DUMP", name), "REPLACE")
        else:
            self.server.ask("UNLINK", other)
            position, data = self.server.ask("CF.SCANDUMP", name, 0)
            while position != 0:
                self.ask("OK", "CF.LOADCHUNK", other, position, data)
                position, data = self.server.ask("CF.SCANDUMP", name, position)
        self.c.expect(self.server.digest(name) == self.server.digest(other), f"{name} and {other} differ, way {way}")
        twin = Cuckoo(2)
        twin.__dict__.update(self.keys[name].__dict__, filters=[bytearray(slots) for slots in self.keys[name].filters])
        self.keys[other] = twin

    def facts(self, name):
        """CF.INFO and all bytes."""
        if name not in self.keys:
            self.ask("ERR not found", "CF.INFO", name)
            return
        model, reply = self.keys[name], self.server.ask("CF.INFO", name)
        slots = model.slots()
        expected = [40 + 16 * len(model.filters) + len(slots), model.buckets, len(model.filters), model.items, model.deletes,
                    model.bucket_size, model.growth, model.iterations]
        self.c.expect(reply[1::2] == expected, f"{name}: {reply}, not {expected}")
        if model.items > 0:
            self.c.expect(dumped(self.server, name) == (model.header(), slots), f"{name}: other bytes")

    def step(self):
        """A random command."""
        name = self.rnd.choice(NAMES)
        self.rnd.choices([self.make, self.add, self.look, self.remove, self.compact, self.copy, self.facts],
                         [8, 30, 15, 15, 4, 6, 8])[0](name)


@case
def random_commands_agree_with_the_model_byte_for_byte(c):
    master = Server(c, "master", arguments=["cf-max-expansions", str(EXPANSIONS)],
                    options=["--appendonly", "yes", "--appendfsync", "no", "--aof-use-rdb-preamble", "no"])
    model = Model(c, master, 8)
    run_beside_a_replica(c, master, Server(c, "replica", arguments=OTHER), COMMANDS, model.step, lambda: [model.facts(name) for name in NAMES])
    c.expect(any(len(filter_.filters) > 2 for filter_ in model.keys.values()), "some have grown")
    master.ask("FLUSHALL")
    master.wait_for_zeros("bf_keys", "bf_cuckoo_keys", "bf_memory_bytes")


@case
def what_is_passed_on_of_a_cuckoo_filter_is_what_it_did(c):
    server = Server(c, options=["--appendonly", "yes", "--appendfsync", "always"], arguments=["cf-initial-size", "64"])
    server.ask("CF.ADD", "k", "a")
    server.ask("CF.ADD", "k", "a")
    server.ask("BLOOM.CF.ADD", "k", "a")
    server.ask("CF.ADDNX", "k", "a")
    server.ask("CF.ADDNX", "k", "b")
    server.ask("CF.INSERTNX", "k", "CAPACITY", 8, "ITEMS", "b", "c", "a", "d")
    server.ask("CF.INSERTNX", "k", "ITEMS", "a", "b")
    server.ask("CF.INSERT", "missing", "NOCREATE", "ITEMS", "a")
    server.ask("CF.INSERT", "i", "CAPACITY", 8, "ITEMS", "a", "a")
    server.ask("CF.RESERVE", "k", 10)
    server.ask("CF.RESERVE", "full", 2, "BUCKETSIZE", 1, "EXPANSION", 0)
    server.ask("CF.INSERT", "full", "ITEMS", "1", "2", "3", "4", "5", "6")
    server.ask("CF.ADD", "full", "7")
    server.ask("CF.DEL", "k", "absent")
    server.ask("CF.DEL", "missing", "a")
    server.ask("CF.COMPACT", "k")
    server.ask("CF.DEL", "k", "a")
    server.ask("BLOOM.CF.DEL", "k", "a")
    server.ask("CF.COMPACT", "k")
    server.ask("CF.COMPACT", "k")
    server.ask("CF.LOADCHUNK", "k", 3, "x")
    server.ask("CF.LOADCHUNK", "k", 9999, "x")
    plan = ["BUCKETSIZE", "2", "MAXITERATIONS", "20", "EXPANSION", "1"]
    expected = [["CF.RESERVE", "k", "64", *plan], ["CF.ADD", "k", "a"], ["CF.ADD", "k", "a"],
                ["CF.INSERT", "k", "ITEMS", "a"], ["CF.ADDNX", "k", "b"], ["CF.INSERT", "k", "ITEMS", "c", "d"],
                ["CF.RESERVE", "i", "8", *plan], ["CF.INSERT", "i", "ITEMS", "a", "a"],
                ["CF.RESERVE", "full", "2", "BUCKETSIZE", "1", "MAXITERATIONS", "20", "EXPANSION", "0"],
                ["CF.INSERT", "full", "ITEMS", "1", "2"],
                ["CF.DEL", "k", "a"], ["CF.DEL", "k", "a"], ["CF.COMPACT", "k"], ["CF.LOADCHUNK", "k", "3", "x"]]
    found = [words for words in server.aof_commands() if words[0] not in (b"MULTI", b"EXEC")]
    c.expect(server.ask("CF.COUNT", "full", "1") == 1, "the first two found room")
    counts = {name: server.info("bf")[name] for name in ("bf_cuckoo_keys", "bf_cuckoo_adds", "bf_cuckoo_deletes")}
    c.expect(counts == {"bf_cuckoo_keys": "3", "bf_cuckoo_adds": "10", "bf_cuckoo_deletes": "2"}, f"{counts}")
    c.expect(found == [as_words(words) for words in expected], f"{found}")


@case
def a_replica_with_other_settings_has_the_same_cuckoo_filter(c):
    master, replica = Server(c, "master"), Server(c, "replica", arguments=[*OTHER, "memory-usage-limit", "100"])
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    master.ask("CF.ADD", "add", "x")
    master.ask("CF.INSERT", "insert", "CAPACITY", 4, "ITEMS", *range(40))
    master.ask("CF.INSERT", "insert", "CAPACITY", 4, "ITEMS", *range(40))
    master.ask("CF.RESERVE", "grown", 8)
    master.ask("CF.INSERTNX", "grown", "ITEMS", *range(400))
    for number in range(0, 400, 3):
        master.ask("CF.DEL", "grown", number)
    for words in (("MULTI",), ("CF.ADD", "multi", "x"), ("CF.ADDNX", "multi", "y"), ("EXEC",)):
        master.ask(*words)
    master.ask("WAIT", 1, 10_000)
    c.expect(master.ask("DEBUG", "DIGEST") == replica.ask("DEBUG", "DIGEST"), "other digests of all")
    c.expect(replica.ask("CF.INFO", "add")[3] == 512, "the master's settings")
    c.expect(str(replica.ask("CF.DEL", "add", "x")).startswith("READONLY"), "it takes no writes of its own")


@case
def watchers_and_listeners_hear_of_changes_alone(c):
    server = Server(c)
    server.ask("CF.RESERVE", "k", 100)
    server.ask("CF.ADD", "k", "a")
    other = server.connect()
    for words, changes in ((("CF.ADD", "k", "a"), True), (("CF.ADDNX", "k", "a"), False), (("CF.INSERTNX", "k", "ITEMS", "a"), False),
                           (("CF.EXISTS", "k", "a"), False), (("CF.DEL", "k", "z"), False), (("CF.DEL", "k", "a"), True),
                           (("CF.COMPACT", "k"), True), (("CF.COMPACT", "k"), False), (("CF.LOADCHUNK", "k", 3, b"\1"), True),
                           (("CF.RESERVE", "n", 5), True)):
        other.ask("WATCH", "k", "n")
        server.ask(*words)
        other.ask("MULTI")
        other.ask("PING")
        c.expect((other.ask("EXEC") is None) == changes, f"{words}")
    server.ask("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = server.connect()
    listener.ask("PSUBSCRIBE", "__keyspace*")
    for words in (("CF.ADD", "e", "a"), ("CF.ADDNX", "e", "a"), ("CF.DEL", "e", "a"), ("CF.COMPACT", "e"), ("SET", "end", "x")):
        server.ask(*words)
    events = []
    while not events or events[-1] != "end set":
        message = listener.reply().split(b"\r\n")
        event = f"{message[6].decode().partition(':')[2]} {message[8].decode()}"
        events += [event] if not event.endswith(" new") else []
    c.expect(events == ["e cuckoo.reserve", "e cuckoo.add", "e cuckoo.del", "e cuckoo.compact", "end set"], f"{events}")


@case
def settings_decide_what_a_cuckoo_filter_is_made_with(c):
    server = Server(c, arguments=["cf-initial-size", "10", "cf-bucket-size", "5", "CF_MAX_EXPANSIONS", "3"])
    server.ask("CF.ADD", "k", "x")
    c.expect(server.ask("CF.INFO", "k")[3::2] == [2, 1, 1, 0, 5, 1, 20], f"{server.ask('CF.INFO', 'k')}")
    for name, value in (("cf-initial-size", 4000), ("cf-bucket-size", 8), ("cf-max-iterations", 33), ("cf-expansion-factor", 4)):
        c.expect(server.ask("CONFIG", "SET", "bf." + name, value) == "OK", name)
    server.ask("CF.INSERT", "l", "ITEMS", "x")
    c.expect(server.ask("CF.INFO", "l")[3::2] == [512, 1, 1, 0, 8, 4, 33], f"{server.ask('CF.INFO', 'l')}")
    server.ask("CF.RESERVE", "m", 16, "EXPANSION", 3, "MAXITERATIONS", 1)
    c.expect(server.ask("CF.INFO", "m")[3::2] == [2, 1, 0, 0, 8, 4, 1], f"{server.ask('CF.INFO', 'm')}")
    c.expect("must be in the range [16, 1073741824]" in server.ask("CONFIG", "SET", "bf.cf-initial-size", 15), "two buckets")
    server.ask("CONFIG", "SET", "bf.cf-initial-size", 40)
    c.expect("must be in the range [1, 20]" in server.ask("CONFIG", "SET", "bf.cf-bucket-size", 21), "two buckets")
    c.expect("Value for" in server.ask("CONFIG", "SET", "bf.cf-bucket-size", 20, "bf.cf-initial-size", 39), "both at once")
    c.expect(server.ask("CONFIG", "GET", "bf.cf-bucket-size")[1] == b"8", "and nothing was set")
    for number in range(300):
        reply = server.ask("CF.ADD", "k", number)
        c.expect(reply == 1 or (reply == NO_MORE and server.ask("CF.INFO", "k")[5] == 3), f"{number}: {reply}")
    c.expect(server.ask("CF.ADDNX", "k", "x") == NO_MORE and server.ask("CF.INSERT", "k", "ITEMS", "x") == NO_MORE, "no more")
    c.expect(server.ask("CF.DEL", "k", "x") == 1, "but less")


@case
def arguments_of_settings_must_fit_each_other(c):
    for words, text in ((["cf-bucket-size", "4", "cf-initial-size", "7"], "Value for `cf-initial-size` must be in the range [8, 1073741824]"),
                        (["cf-initial-size", "1"], "Value for `cf-initial-size` must be in the range [2, 1073741824]"),
                        (["cf-max-iterations", "0"], "Value for `cf-max-iterations` must be in the range [1, 65535]"),
                        (["CF_MAX_EXPANSIONS", "x"], "Invalid value for `CF_MAX_EXPANSIONS`")):
        server = Server(c, "-".join(words[:2]), module=False)
        server.stop()
        server.options += ["--loadmodule", MODULE, *words]
        c.expect(server.refuses_to_start() and text in server.log(), f"{words}: {server.log()[-300:]}")


@case
def wrong_arguments_make_no_cuckoo_filter(c):
    server = Server(c)
    server.ask("SET", "s", "x")
    arity = "ERR wrong number of arguments for '{}' command"
    for words, text in (
            (("CF.RESERVE", "k", 100, "FOO"), arity.format("cf.reserve")),
            (("CF.RESERVE", "k", 100, "BUCKETSIZE", 51), "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
            (("CF.RESERVE", "k", 2 ** 30 + 1), "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
            (("CF.RESERVE", "k", "1e3"), "Bad capacity"), (("CF.RESERVE", "k", 2 ** 63), "Bad capacity"),
            (("CF.RESERVE", "k", 100, "EXPANSION", 2 ** 63), "Couldn't parse EXPANSION"),
            (("CF.RESERVE", "k", 100, "BUCKETSIZE", 0, "MAXITERATIONS", 0), "MAXITERATIONS: value must be in the range [1, 65535]"),
            (("CF.RESERVE", "k", 100, "EXPANSION", -1, "BUCKETSIZE", 0), "BUCKETSIZE: value must be in the range [1, 255]"),
            (("CF.RESERVE", "k", 100, "x", "MAXITERATIONS"), "Couldn't parse MAXITERATIONS"),
            (("CF.INSERT", "k", "CAPACITY", 4, "NOCREATE"), arity.format("cf.insert")),
            (("CF.INSERT", "k", "CAPACITY", 2 ** 40, "ITEMS", "x"), "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
            (("CF.INSERTNX", "k", "ERROR", "0.1", "ITEMS", "x"), "Unknown argument received"),
            (("CF.COUNT", "k"), arity.format("cf.count")), (("CF.INFO", "k", "SIZE"), arity.format("cf.info")),
            (("CF.LOADCHUNK", "k", -1, "x"), "ERR not found"), (("CF.LOADCHUNK", "k", "", "x"), "Invalid position"),
            (("CF.ADDNX", "s", "x"), WRONG_TYPE), (("CF.INSERTNX", "s", "ITEMS", "x"), WRONG_TYPE), (("CF.DEBUG", "s"), WRONG_TYPE),
            (("CF.LOADCHUNK", "s", 2, "x"), WRONG_TYPE), (("CF.RESERVE", "s", 100), WRONG_TYPE)):
        reply = server.ask(*words)
        c.expect(isinstance(reply, Error) and reply == text, f"{words}: {reply}, not {text}")
    c.expect(server.ask("CF.MEXISTS", "s", "x", "y") == [0, 0] and server.ask("DBSIZE") == 1, "no key was made")
    c.expect(server.ask("CF.RESERVE", "BUCKETSIZE", 50) == "OK" and server.ask("CF.INFO", "BUCKETSIZE")[11] == 2, "a key's name")
    server.ask("BF.ADD", "b", "x")
    server.ask("CF.ADD", "c", "x")
    c.expect(server.ask("CF.ADD", "b", "x") == WRONG_TYPE and server.ask("BF.ADD", "c", "x") == WRONG_TYPE, "two types")
    c.expect(server.ask("CF.EXISTS", "b", "x") == 0 and server.ask("BF.EXISTS", "c", "x") == 0, "two types")
    c.expect(server.ask("BF.MERGE", "b", "c") == WRONG_TYPE and server.ask("BF.CLEAR", "c") == WRONG_TYPE, "two types")


@case
def pieces_come_from_any_position(c):
    server = Server(c)
    server.ask("CF.RESERVE", "k", 100_000, "EXPANSION", 1)
    server.ask("CF.INSERT", "k", "ITEMS", *range(100))
    whole = server.ask("CF.SCANDUMP", "k", 1)
    c.expect(whole[0] == 131073 and len(whole[1]) == 131072, "a sub-filter is a piece")
    c.expect(server.ask("CF.SCANDUMP", "k", 1000) == whole, "from any position in it, as the reference")
    c.expect(server.ask("CF.SCANDUMP", "k", whole[0]) == [0, None] and server.ask("CF.SCANDUMP", "k", 2 ** 63 - 1) == [0, None], "its end")
    server.ask("CONFIG", "SET", "bf.scandump-chunk-size", 65536)
    c.expect(dumped(server, "k")[1] == whole[1], "smaller pieces are the same filter")
    c.expect(len(server.ask("CF.SCANDUMP", "k", 100_000)[1]) == 31073, "and begin at their position")
    header = server.ask("CF.SCANDUMP", "k", 0)[1]
    c.expect(server.ask("CF.LOADCHUNK", "l", 1, header) == "OK" and server.ask("CF.LOADCHUNK", "l", whole[0], whole[1]) == "OK", "loaded")
    c.expect(server.digest("k") == server.digest("l"), "it is the same")
    for position, data in ((whole[0] + 1, whole[1]), (whole[0], whole[1] + b"x"), (131074, b"x"), (2, b"xx"), (-5, b"x"), (-5, b""),
                           (2 ** 63 - 1, b"x"), (-2 ** 63, b"x")):
        c.expect(server.ask("CF.LOADCHUNK", "l", position, data) == "Couldn't load chunk!", f"{position} {len(data)}")
    c.expect(server.digest("k") == server.digest("l"), "it is as it was")


@case
def limits_of_memory_hold_for_cuckoo_filters(c):
    server = Server(c, arguments=["memory-usage-limit", "100000"])
    c.expect(server.ask("CF.RESERVE", "large", 200_000) == "ERR Insufficient memory to create filter", "too large")
    c.expect(server.ask("CF.RESERVE", "k", 40_000) == "OK", "of 64 KiB")
    replies = server.ask("CF.INSERT", "k", "ITEMS", *range(70_000))
    c.expect(replies.count(-1) > 1000 and replies[0] == 1 and set(replies) == {1, -1}, "it does not grow")
    # Others may have moved since, so that there is room for some.
    refused = [number for number, reply in enumerate(replies) if reply == -1][-1]
    while server.ask("CF.INSERT", "k", "ITEMS", refused) == [1]:
        pass
    before = server.digest("k")
    c.expect(server.ask("CF.ADD", "k", refused) == "ERR Insufficient memory", "it does not grow")
    c.expect(server.digest("k") == before, "what was refused changes nothing")
    header = bytearray(server.ask("CF.SCANDUMP", "k", 0)[1])
    header[8:16] = (2 ** 20).to_bytes(8, "little")
    c.expect(server.ask("CF.LOADCHUNK", "l", 1, bytes(header)) == "Couldn't create filter!", "a header of 2 MiB")
    c.expect(int(server.info("bf")["bf_refused_by_key_limit"]) > 1000, "refusals are counted")
    server.ask("CONFIG", "SET", "maxmemory", "1")
    c.expect(str(server.ask("CF.ADD", "k", "x")).startswith("OOM"), "adding is refused")
    c.expect(server.ask("CF.DEL", "k", 0) == 1 and server.ask("CF.COMPACT", "k") == "OK", "removing is not")


@case
def small_and_large_cuckoo_keys_take_little_beside_their_slots(c):
    server = Server(c)
    used = []
    for words in (("SET", ""), ("CF.ADD", "x")):
        before = int(server.info("memory")["used_memory"])
        for number in range(2000):
            server.ask(words[0], f"{words[0]} {number:06}", words[1])
        used.append((int(server.info("memory")["used_memory"]) - before) / 2000)
    c.expect(used[1] - used[0] - 1024 < 400, f"{used[1] - used[0] - 1024} bytes beside the slots")
    server.ask("FLUSHALL")
    c.expect(server.ask("CF.RESERVE", "large", 2 ** 25) == "OK", "of 32 MiB")
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "its pages are taken")
    c.expect(int(server.info("bf")["bf_populated_bytes"]) >= 2 ** 25, "its pages are taken")
    c.expect(server.ask("UNLINK", "large") == 1, "UNLINK")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "it is released")


main()
