# SPDX-License-Identifier: Apache-2.0
"""Random commands against exact sets: filters that grow, that do not, and windows, with restarts, reloads, rewritten
files and a replica between them. No item is ever denied, few are claimed wrongly, and all copies are equal.

BLOOMERY_TEST_LONG: twenty times as many commands.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import random

from live import Error, Server, run_beside_a_replica
from runner import case, main

COMMANDS = 600 * (20 if "BLOOMERY_TEST_LONG" in os.environ else 1)
NAMES = [f"k{number}" for number in range(8)]
ITEMS = 3000  # different ones
RATE = 0.001
GENERATIONS = 3


class Model:
    """What the server should have: for each key its sets, the newest first; a plain filter has one."""

    def __init__(self, c, server, seed):
        self.c, self.server = c, server
        self.rnd = random.Random(seed)
        self.keys = {}
        self.windows = set()
        self.asked = self.wrong = 0

    def some(self, most=40):
        """Some items."""
        return [self.rnd.randrange(ITEMS) for _ in range(self.rnd.randint(1, most))]

    def is_in(self, name, item):
        """Whether it was added and not forgotten."""
        return any(item in part for part in self.keys.get(name, []))

    def expect(self, holds, what):
        """Expects something of the server."""
        self.c.expect(holds, what)

    def make(self, name):
        """BF.RESERVE of some kind."""
        kind = self.rnd.choice([["EXPANSION", 2], ["EXPANSION", 1], ["NONSCALING"], ["GENERATIONS", GENERATIONS],
                                ["GENERATIONS", GENERATIONS, "EVERY", 1000000]])
        capacity = ITEMS if kind[0] in ("NONSCALING", "GENERATIONS") else self.rnd.choice([50, ITEMS])
        reply = self.server.ask("BF.RESERVE", name, RATE, capacity, *kind)
        if name in self.keys:
            self.expect(reply == "ERR item exists", f"RESERVE {name}: {reply}")
            return
        self.expect(reply == "OK", f"RESERVE {name}: {reply}")
        self.windows.discard(name)
        if kind[0] == "GENERATIONS":
            self.windows.add(name)
        self.keys[name] = [set() for _ in range(GENERATIONS if name in self.windows else 1)]

    def add(self, name):
        """BF.ADD and BF.MADD."""
        if name not in self.keys:
            return
        items = self.some()
        replies = self.server.ask("BF.MADD", name, *items) if len(items) > 1 else [self.server.ask("BF.ADD", name, items[0])]
        self.expect(len(replies) == len(items) and not isinstance(replies[-1], Error), f"ADD {name}: {replies}")
        for item, reply in zip(items, replies):
            was_in = self.is_in(name, item)
            self.expect(not (was_in and reply), f"ADD {name} {item}: new, and it was there")
            self.asked += 1
            self.wrong += not was_in and not reply
            self.keys[name][0].add(item)

    def look(self, name):
        """BF.EXISTS and BF.MEXISTS, also of a key that is not there."""
        items = self.some(200)
        replies = self.server.ask("BF.MEXISTS", name, *items) if len(items) > 1 else [self.server.ask("BF.EXISTS", name, items[0])]
        for item, reply in zip(items, replies):
            is_in = self.is_in(name, item)
            self.expect(reply or not is_in, f"EXISTS {name} {item}: it is denied")
            self.asked += 1
            self.wrong += bool(reply) and not is_in

    def clear(self, name):
        """BF.CLEAR."""
        reply = self.server.ask("BF.CLEAR", name)
        self.expect(reply == ("OK" if name in self.keys else "ERR not found"), f"CLEAR {name}: {reply}")
        for part in self.keys.get(name, []):
            part.clear()

    def rotate(self, name):
        """BF.ROTATE."""
        reply = self.server.ask("BF.ROTATE", name)
        self.expect((reply == "OK") == (name in self.windows and name in self.keys), f"ROTATE {name}: {reply}")
        if reply == "OK":
            self.keys[name] = [set()] + self.keys[name][:-1]

    def merge(self, name):
        """BF.MERGE: it works where the layers are the same."""
        sources = [self.rnd.choice(NAMES) for _ in range(self.rnd.randint(1, 3))]
        reply = self.server.ask("BF.MERGE", name, *sources)
        every = sources + [name] * (name in self.keys)
        if any(key not in self.keys or key in self.windows for key in every):
            self.expect(isinstance(reply, Error), f"MERGE {name} {sources}: {reply}")
        if reply == "OK":
            target = self.keys.setdefault(name, [set()])
            self.windows.discard(name)
            for source in sources:
                target[0] |= self.keys[source][0]

    def copy(self, name):
        """COPY, RENAME, DUMP and RESTORE, SCANDUMP and LOADCHUNK."""
        other, way = self.rnd.choice(NAMES), self.rnd.randrange(4)
        if name not in self.keys or other == name:
            return
        if way == 0:
            self.expect(self.server.ask("COPY", name, other, "REPLACE") == 1, "COPY")
        elif way == 1:
            self.expect(self.server.ask("RESTORE", other, 0, self.server.ask("DUMP", name), "REPLACE") == "OK", "RESTORE")
        elif way == 2:
            self.server.ask("DEL", other)
            iterator, data = self.server.ask("BF.SCANDUMP", name, 0)
            while iterator != 0:
                self.expect(self.server.ask("BF.LOADCHUNK", other, iterator, data) == "OK", "LOADCHUNK")
                iterator, data = self.server.ask("BF.SCANDUMP", name, iterator)
        else:
            self.server.ask("RENAME", name, other)
        if way < 3:
            self.expect(self.server.digest(name) == self.server.digest(other), f"{name} and {other} differ, way {way}")
        self.keys[other] = [set(part) for part in self.keys[name]]
        (self.windows.add if name in self.windows else self.windows.discard)(other)
        if way == 3:
            self.drop(name)

    def drop(self, name):
        """Forgets a key."""
        self.keys.pop(name, None)
        self.windows.discard(name)

    def delete(self, name):
        """DEL or UNLINK."""
        self.server.ask(self.rnd.choice(["DEL", "UNLINK"]), name)
        self.drop(name)

    def facts(self, name):
        """What BF.INFO says."""
        if name not in self.keys:
            self.expect(self.server.ask("BF.INFO", name) == "ERR not found", "INFO of no key")
            return
        most = sum(len(part) for part in self.keys[name])
        items = self.server.ask("BF.CARD", name)
        self.expect(0.98 * most - 3 <= items or self.merged(name), f"{name}: {items} of {most}")
        self.expect(0 <= float(self.server.ask("BF.INFO", name, "ERRORNOW")[0]) < 0.02, "ERRORNOW")

    def merged(self, name):
        """Whether counts are estimates: of a union, by its bits."""
        return name not in self.windows

    def step(self):
        """A random command."""
        name = self.rnd.choice(NAMES)
        self.rnd.choices([self.make, self.add, self.look, self.clear, self.rotate, self.merge, self.copy, self.delete, self.facts],
                         [6, 30, 20, 2, 8, 6, 8, 2, 4])[0](name)


def check_all(c, model, server):
    """Every key, and every item."""
    for name, parts in model.keys.items():
        items = sorted(set().union(*parts))
        if items:
            c.expect(server.ask("BF.MEXISTS", name, *items) == [1] * len(items), f"{name} has lost an item")
        c.expect(server.ask("TYPE", name) == ("bloomwind" if name in model.windows else "MBbloom--"), f"TYPE {name}")
    c.expect(server.ask("DBSIZE") == len(model.keys), "keys")


@case
def random_commands_agree_with_exact_sets(c):
    master = Server(c, "master", options=["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"])
    model = Model(c, master, 36)
    run_beside_a_replica(c, master, Server(c, "replica", arguments=["bf-expansion-factor", "4"]), COMMANDS, model.step,
                         lambda: check_all(c, model, master))
    # Each layer of a chain adds its part to twice the rate; merged filters hold more than they were planned for.
    c.expect(model.wrong < 0.01 * model.asked, f"{model.wrong} of {model.asked} were claimed wrongly")
    c.expect(model.asked > 10 * COMMANDS, f"{model.asked} questions")
    master.ask("FLUSHALL")
    master.wait_for_zeros("bf_keys", "bf_windows", "bf_memory_bytes")


main()
