# SPDX-License-Identifier: Apache-2.0
"""Keys move between the nodes of a cluster while they are written to: slot by slot, and on Valkey 9 whole slots at
once. No acknowledged item is lost, and every key is the one that never moved.

BLOOMERY_TEST_LONG: more keys, items and moves, and large keys.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import random
import threading

from live import Client, Clock, Error, Server, free_port
from runner import Skip, case, main

LONG = "BLOOMERY_TEST_LONG" in os.environ
KEYS = 40 if LONG else 7
TAGS = [f"t{number}" for number in range(8 if LONG else 2)]
SLOTS = 16384


def crc16(data):
    """Of a key, as clusters have it (polynomial 1021)."""
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xffff
    return crc


def slot_of(key):
    """The slot of a key without braces."""
    return crc16(key.encode()) % SLOTS


def family_of(key):
    """Each seventh key is a cuckoo filter, from the fourth on."""
    return "CF" if int(key.partition(":")[2]) % 7 == 3 else "BF"


def make_cluster(c, **settings):
    """Two nodes; the first one has all slots."""
    nodes = []
    for name in ("one", "two"):
        port = free_port()
        # A node that loses its last slot stays a master.
        options = ["--cluster-enabled", "yes", "--cluster-port", str(port), "--cluster-node-timeout", "20000",
                   "--cluster-allow-replica-migration", "no"]
        nodes.append(Server(c, name, options=options, **settings))
        nodes[-1].bus = port
    one, two = nodes
    one.ask("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    one.ask("CLUSTER", "MEET", "127.0.0.1", two.port, two.bus)
    for node in nodes:
        node.id = node.ask("CLUSTER", "MYID").decode()
        node.wait_for(lambda node=node: b"cluster_state:ok" in node.ask("CLUSTER", "INFO") and
                      b"cluster_known_nodes:2" in node.ask("CLUSTER", "INFO"), "the nodes know each other")
    one.wait_for(lambda: b"handshake" not in one.ask("CLUSTER", "NODES") and b"handshake" not in two.ask("CLUSTER", "NODES"), "they met")
    return nodes


# ---- Moving --------------------------------------------------------------------------------------

def by_keys(c, source, target, slot, then=lambda: None):
    """Moves a slot key by key: SETSLOT and MIGRATE."""
    c.expect(target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id) == "OK", "IMPORTING")
    c.expect(source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id) == "OK", "MIGRATING")
    then()
    keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1)
    while keys:
        c.expect(source.ask("MIGRATE", "127.0.0.1", target.port, "", 0, 30_000, "KEYS", *keys) == "OK", f"MIGRATE {keys}")
        keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, 1)
    for node in (target, source):
        c.expect(node.ask("CLUSTER", "SETSLOT", slot, "NODE", target.id) == "OK", "NODE")


def has_migrateslots(node):
    """Whether this server moves whole slots: Valkey from 9 on."""
    return any("MIGRATESLOTS" in str(line) for line in node.ask("CLUSTER", "HELP"))


def owns(node, slot):
    """Whether a node takes a slot to be its own."""
    return any(part[0] <= slot <= part[1] and part[2][2].decode() == node.id for part in node.ask("CLUSTER", "SLOTS"))


def at_once(c, source, target, *slots):
    """Moves whole slots: MIGRATESLOTS."""
    ranges = [word for slot in slots for word in (slot, slot)]
    reply = source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", target.id)
    c.expect(reply == "OK", f"MIGRATESLOTS: {reply}")

    def have_moved():
        state = dict(zip(*[iter(source.ask("CLUSTER", "GETSLOTMIGRATIONS")[0])] * 2))
        c.expect(state[b"state"] != b"failed", f"MIGRATESLOTS: {state}")
        return state[b"state"] == b"success" and all(owns(node, slot) == (node is target) for node in (source, target) for slot in slots)

    source.wait_for(have_moved, "the slots have moved")


def ways_of(node):
    """How this server can move a slot."""
    return [by_keys] + [at_once] * has_migrateslots(node)


def follow(clients, first, *words):
    """The reply of the node that has the key, or is getting it."""
    to, asking = clients[first], False
    for _ in range(20_000):
        if asking:
            to.ask("ASKING")
        reply = to.ask(*words)
        if not isinstance(reply, Error):
            return reply
        asking = reply.startswith("ASK ")
        if reply.startswith(("ASK ", "MOVED ")):
            to = clients[int(reply.rpartition(":")[2])]
        elif not reply.startswith(("TRYAGAIN", "CLUSTERDOWN")):
            return reply
    raise AssertionError(f"{words[:2]}: {reply}")


# ---- Load ----------------------------------------------------------------------------------------

class Writer:
    """Adds items to keys wherever they are, and notes what was acknowledged."""

    def __init__(self, nodes, keys):
        self.nodes, self.keys = nodes, keys
        self.added = {key: [] for key in keys}
        self.failed = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        """Until it is stopped."""
        try:
            clients = {node.port: Client(node.port) for node in self.nodes}
            number = 0
            while not self.is_over.is_set():
                key = self.keys[number % len(self.keys)]
                items = [f"{number} {item}" for item in range(20)]
                words = ["CF.INSERT", key, "ITEMS"] if family_of(key) == "CF" else ["BF.MADD", key]
                reply = follow(clients, self.nodes[0].port, *words, *items)
                assert not isinstance(reply, Error) and len(reply) == len(items) and -1 not in reply, f"{key}: {reply}"
                self.added[key] += items
                number += 1
        except Exception as why:  # pylint: disable=broad-except
            self.failed = why

    def stop(self):
        """The items of each key."""
        self.is_over.set()
        self.thread.join()
        if self.failed:
            raise self.failed
        return self.added


def make_keys(node):
    """Filters, windows and cuckoo filters of some sizes, each in a slot of its own."""
    keys = [f"key:{number}" for number in range(KEYS)]
    for number, key in enumerate(keys):
        words = [["GENERATIONS", 3], ["EXPANSION", 2], ["NONSCALING"]][number % 3]
        capacity = 20_000_000 if LONG and number == 1 else 200_000
        if family_of(key) == "CF":
            assert node.ask("CF.RESERVE", key, capacity) == "OK"
            continue
        assert node.ask("BF.RESERVE", key, "0.0001", capacity, *words) == "OK"
    return keys


def check_all(c, node, added):
    """A node has every item."""
    for key, items in added.items():
        for first in range(0, len(items), 5000):
            some = items[first:first + 5000]
            c.expect(node.ask(f"{family_of(key)}.MEXISTS", key, *some) == [1] * len(some), f"{key} has lost an item")
    c.expect(sum(len(items) for items in added.values()) > 100, "something was added")


@case
def resharding_under_load_loses_nothing(c):
    one, two = make_cluster(c)
    keys = make_keys(one)
    writer = Writer([one, two], keys)
    for key in keys:
        def is_written_to(key=key, before=len(writer.added[key])):
            one.wait_for(lambda: len(writer.added[key]) > before or writer.failed, "it is written to")
        by_keys(c, one, two, slot_of(key), is_written_to)
    added = writer.stop()
    check_all(c, two, added)
    c.expect(one.ask("DBSIZE") == 0 and two.ask("DBSIZE") == len(keys), "all have moved")


@case
def slots_that_migrate_at_once_lose_nothing(c):
    one, two = make_cluster(c)
    if not has_migrateslots(one):
        raise Skip("this server has no CLUSTER MIGRATESLOTS")
    keys = make_keys(one)
    writer = Writer([one, two], keys)
    at_once(c, one, two, *sorted(slot_of(key) for key in keys))
    added = writer.stop()
    check_all(c, two, added)
    c.expect(one.ask("DBSIZE") == 0 and two.ask("DBSIZE") == len(keys), "all have moved")


class Mixture:
    """Random commands of every sort, each of them at the cluster and at a server by itself."""

    def __init__(self, nodes, alone, slots):
        self.nodes, self.alone, self.slots = nodes, alone, slots
        self.rnd = random.Random(38)
        self.failed, self.count = None, 0
        self.lock = threading.Lock()  # no time passes between a command at the cluster and at the other server
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def command(self):
        """Keys of one slot have the same tag."""
        tag = f"{{{self.rnd.choice(self.slots)}}}"
        items = [self.rnd.randrange(20_000) for _ in range(self.rnd.choice([1, 3, 30]))]
        return self.rnd.choice((
            ["BF.MADD", tag + "grown", *items], ["BF.MADD", tag + "one", *items], ["BF.MADD", tag + "other", *items],
            ["BF.ADD", tag + "other", items[0]], ["BF.INSERT", tag + "new", "CAPACITY", 40, "ITEMS", *items],
            ["BF.MADD", tag + "window", *items], ["BF.MADD", tag + "timed", *items], ["CF.INSERT", tag + "cuckoo", "ITEMS", *items],
            ["CF.INSERTNX", tag + "cuckoo", "ITEMS", *items], ["CF.DEL", tag + "cuckoo", items[0]], ["CF.ADD", tag + "added", items[0]],
            self.rnd.choice((["BF.MERGE", tag + "one", tag + "other"], ["BF.CLEAR", tag + "other"], ["BF.ROTATE", tag + "window"],
                             ["CF.COMPACT", tag + "cuckoo"], ["UNLINK", tag + "new"], ["BF.CLEAR", tag + "window"]))))

    def run(self):
        """Until it is stopped."""
        try:
            clients = {node.port: Client(node.port) for node in self.nodes}
            alone = Client(self.alone.port)
            for slot in self.slots:
                tag = f"{{{slot}}}"
                for words in (("BF.RESERVE", tag + "grown", "0.01", 20, "EXPANSION", 2), ("BF.RESERVE", tag + "one", "0.01", 5000),
                              ("BF.RESERVE", tag + "other", "0.01", 5000), ("BF.RESERVE", tag + "window", "0.01", 3000, "GENERATIONS", 5),
                              ("BF.RESERVE", tag + "timed", "0.01", 20_000, "GENERATIONS", 3, "EVERY", 60),
                              ("CF.RESERVE", tag + "cuckoo", 64, "EXPANSION", 2)):
                    self.both(clients, alone, words)
            while not self.is_over.is_set():
                self.both(clients, alone, self.command())
                self.count += 1
            for slot in self.slots:  # a window that moved is rotated at its next use
                self.both(clients, alone, ["BF.ADD", f"{{{slot}}}timed", "the end"])
        except Exception as why:  # pylint: disable=broad-except
            self.failed = why

    def both(self, clients, alone, words):
        """The replies are the same."""
        with self.lock:
            found, expected = follow(clients, self.nodes[0].port, *words), alone.ask(*words)
        assert found == expected, f"{words[:2]}: {found}, not {expected}"

    def wait(self, more):
        """Waits for some commands."""
        until = self.count + more
        self.alone.wait_for(lambda: self.count >= until or self.failed, "commands are acknowledged")

    def stop(self):
        """Ends it."""
        self.is_over.set()
        self.thread.join()
        if self.failed:
            raise self.failed


@case
def keys_that_moved_to_and_fro_are_those_that_never_moved(c):
    clock = Clock(c)
    alone = Server(c, "alone", environment=clock.environment)
    one, two = make_cluster(c, environment=clock.environment)
    slots = [slot_of(tag) for tag in TAGS]
    load = Mixture([one, two], alone, TAGS)
    load.wait(100)
    for number in range(20 if LONG else 2):
        for way in ways_of(one):
            for source, target in ((one, two), (two, one)):
                with load.lock:
                    clock.go(25)  # now and then a window is due while its slot moves
                if way is at_once:
                    at_once(c, source, target, *slots)
                else:
                    for slot in slots:
                        by_keys(c, source, target, slot, lambda: load.wait(10))
                load.wait(50)
                c.expect(load.failed is None, f"round {number}, {way.__name__}: {load.failed}")
    load.stop()
    names = sorted(alone.ask("KEYS", "*"))
    c.expect(len(names) > 6 * len(TAGS) and sorted(one.ask("KEYS", "*")) == names, "the keys")
    for name in names:
        c.expect(one.digest(name) == alone.digest(name), f"{name} is another filter")


@case
def a_node_with_smaller_limits_gets_every_slot(c):
    """Its limits are for its own clients: what another node has was within the limits there."""
    one, two = make_cluster(c)
    for name, value in (("memory-usage-limit", 10_000), ("cf-max-expansions", 1), ("merge-limit", 0)):
        c.expect(two.ask("CONFIG", "SET", f"bf.{name}", value) == "OK", name)
    one.ask("BF.RESERVE", "{limits}filter", "0.001", 100_000)
    one.ask("BF.RESERVE", "{limits}window", "0.001", 20_000, "GENERATIONS", 4)
    one.ask("BF.RESERVE", "{limits}chain", "0.001", 100, "EXPANSION", 3)
    one.ask("CF.RESERVE", "{limits}cuckoo", 4)
    for first in range(0, 10_000, 500):
        for words in (["BF.MADD", "{limits}filter"], ["BF.MADD", "{limits}window"], ["BF.MADD", "{limits}chain"]):
            one.ask(*words, *range(first, first + 500))
    one.ask("CF.INSERT", "{limits}cuckoo", "ITEMS", *range(100))
    names = ["{limits}filter", "{limits}window", "{limits}chain", "{limits}cuckoo"]
    before, slot = one.digest(*names), slot_of("limits")
    for way in ways_of(one):
        way(c, one, two, slot)
        c.expect(two.digest(*names) == before, f"{way.__name__}: another node has other filters")
        c.expect("problem inserting" in str(two.ask("BF.MADD", "{limits}chain", *range(10_000, 90_000))[-1]), "where they do not grow")
        two.ask("BF.RESERVE", "{limits}chain", "0.001", 100)
        two.ask("CONFIG", "SET", "bf.memory-usage-limit", 0)
        before = two.digest(*names)
        by_keys(c, two, one, slot)
        two.ask("CONFIG", "SET", "bf.memory-usage-limit", 10_000)
        c.expect(one.digest(*names) == before, "and back")


main()
