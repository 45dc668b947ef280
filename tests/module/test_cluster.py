# SPDX-License-Identifier: Apache-2.0
"""Keys move between the nodes of a cluster while they are written to: slot by slot, and on Valkey 9 whole slots at
once. No acknowledged item is lost.

BLOOMERY_TEST_LONG: ten times as many keys and items, and large ones.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import threading

from live import Client, Error, Server, free_port
from runner import Skip, case, main

LONG = "BLOOMERY_TEST_LONG" in os.environ
KEYS = 40 if LONG else 7
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


def make_cluster(c):
    """Two nodes; the first one has all slots."""
    nodes = []
    for name in ("one", "two"):
        port = free_port()
        nodes.append(Server(c, name, options=["--cluster-enabled", "yes", "--cluster-port", str(port), "--cluster-node-timeout", "20000"]))
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


class Writer:
    """Adds items to keys wherever they are, and notes what was acknowledged."""

    def __init__(self, nodes, keys):
        self.nodes, self.keys = nodes, keys
        self.added = {key: [] for key in keys}
        self.failed = None
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def add(self, clients, key, items):
        """Follows what the nodes say of a slot that moves."""
        to, asking = clients[self.nodes[0].port], False
        for _ in range(2000):
            if asking:
                to.ask("ASKING")
            reply = to.ask(*(["CF.INSERT", key, "ITEMS"] if family_of(key) == "CF" else ["BF.MADD", key]), *items)
            if not isinstance(reply, Error):
                return reply
            asking = reply.startswith("ASK ")
            if reply.startswith(("ASK ", "MOVED ")):
                to = clients[int(reply.rpartition(":")[2])]
            elif not reply.startswith(("TRYAGAIN", "CLUSTERDOWN")):
                break
        raise AssertionError(f"{key}: {reply}")

    def run(self):
        """Until it is stopped."""
        try:
            clients = {node.port: Client(node.port) for node in self.nodes}
            number = 0
            while not self.is_over.is_set():
                key = self.keys[number % len(self.keys)]
                items = [f"{number} {item}" for item in range(20)]
                self.add(clients, key, items)
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
        slot = slot_of(key)
        c.expect(two.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", one.id) == "OK", "IMPORTING")
        c.expect(one.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", two.id) == "OK", "MIGRATING")
        before = len(writer.added[key])
        one.wait_for(lambda key=key, before=before: len(writer.added[key]) > before or writer.failed, "it is written to")
        c.expect(one.ask("MIGRATE", "127.0.0.1", two.port, "", 0, 30_000, "KEYS", *one.ask("CLUSTER", "GETKEYSINSLOT", slot, 10)) == "OK",
                 f"MIGRATE {key}")
        for node in (two, one):
            c.expect(node.ask("CLUSTER", "SETSLOT", slot, "NODE", two.id) == "OK", "NODE")
    added = writer.stop()
    check_all(c, two, added)
    c.expect(one.ask("DBSIZE") == 0 and two.ask("DBSIZE") == len(keys), "all have moved")


@case
def slots_that_migrate_at_once_lose_nothing(c):
    one, two = make_cluster(c)
    if b"migrateslots" not in b" ".join(line.lower() for line in one.ask("CLUSTER", "HELP") if isinstance(line, bytes)) and \
            "migrateslots" not in " ".join(str(line).lower() for line in one.ask("CLUSTER", "HELP")):
        raise Skip("this server has no CLUSTER MIGRATESLOTS")
    keys = make_keys(one)
    writer = Writer([one, two], keys)
    slots = sorted(slot_of(key) for key in keys)
    ranges = [word for slot in slots for word in (slot, slot)]
    reply = one.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", *ranges, "NODE", two.id)
    c.expect(reply == "OK", f"{reply}")
    one.wait_for(lambda: two.ask("DBSIZE") == len(keys) and one.ask("DBSIZE") == 0 or writer.failed, "they have moved")
    added = writer.stop()
    check_all(c, two, added)


main()
