# SPDX-License-Identifier: Apache-2.0
"""Windows: keys of several generations, of which the oldest goes. Their clock is a file of the test.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os

from live import START, Clock, Server
from runner import case, main

HOUR = 3600


def rotations(server):
    """How many this server has decided or done."""
    return int(server.info("bf")["bf_rotations"])


@case
def an_item_goes_with_its_generation(c):
    server = Server(c)
    c.expect(server.ask("BF.RESERVE", "w", "0.001", 1000, "GENERATIONS", 3) == "OK", "made")
    c.expect(server.ask("TYPE", "w") == "bloomwind" and server.ask("BF.INFO", "w", "GENERATIONS") == [3], "what it is")
    for item in "abc":
        c.expect(server.ask("BF.ADD", "w", item) == 1, f"{item} is new")
        c.expect(server.ask("BF.MEXISTS", "w", *"abc") == [int(other <= item) for other in "abc"], f"after {item}")
        if item != "c":
            c.expect(server.ask("BF.ROTATE", "w") == "OK", "rotated")
    c.expect(server.ask("BF.ADD", "w", "a") == 0 and server.ask("BF.CARD", "w") == 4, "seen, and remembered from now on")
    server.ask("BF.ROTATE", "w")
    c.expect(server.ask("BF.MEXISTS", "w", *"abc") == [1, 1, 1], "the oldest had `a`, and so has the newest but one")
    server.ask("BF.ROTATE", "w")
    c.expect(server.ask("BF.MEXISTS", "w", *"abc") == [1, 0, 1], "`b` is gone")
    c.expect(server.ask("BF.MADD", "w", *"abcab") == [0, 1, 0, 0, 0], "the replies of many")
    server.ask("BF.CLEAR", "w")
    c.expect(server.ask("BF.MEXISTS", "w", *"abc") == [0, 0, 0] and server.ask("BF.INFO", "w", "GENERATIONS") == [3], "cleared")


@case
def what_was_seen_in_the_last_24_hours_is_known(c):
    clock = Clock(c)
    server = Server(c, environment=clock.environment)
    server.ask("BF.RESERVE", "seen", "0.0001", 1000, "GENERATIONS", 24, "EVERY", HOUR)
    c.expect(server.ask("BF.INFO", "seen", "EVERY") == [HOUR], "its period")
    for hour in range(40):
        server.ask("BF.ADD", "seen", f"item {hour}")
        expected = [int(hour - old < 24) for old in range(hour + 1)]
        c.expect(server.ask("BF.MEXISTS", "seen", *(f"item {old}" for old in range(hour + 1))) == expected, f"hour {hour}")
        clock.go(HOUR)
    # Nobody uses it: the cron rotates, until nothing is left.
    done = rotations(server)
    clock.go(5 * HOUR)
    server.wait_for(lambda: rotations(server) >= done + 5, "the cron rotates")
    clock.go(1000 * HOUR)
    server.wait_for(lambda: server.ask("BF.CARD", "seen") == 0, "nothing is left")


@case
def readers_leave_out_what_is_due_and_change_nothing(c):
    """While a master is to hand over, it must not change: the server ends itself if a module replicates then."""
    clock = Clock(c)
    server = Server(c, environment=clock.environment)
    server.ask("BF.RESERVE", "w", "0.0001", 100, "GENERATIONS", 2, "EVERY", 10)
    server.ask("BF.MADD", "w", "a", "b")
    server.ask("CLIENT", "PAUSE", 100_000, "WRITE")
    clock.go(10)
    c.expect(server.ask("BF.MEXISTS", "w", "a", "b") == [1, 1], "one rotation is due")
    before = server.digest("w")
    clock.go(10)
    c.expect(server.ask("BF.MEXISTS", "w", "a", "b") == [0, 0] and server.ask("BF.EXISTS", "w", "a") == 0, "two are due")
    c.expect(server.ask("BF.DEBUG", "w") == [b"size:0"], "DEBUG")
    c.expect(server.ask("BF.CARD", "w") == 0 and server.ask("BF.INFO", "w", "FILL")[0] in (b"0", 0), "nothing counts")
    c.expect(server.digest("w") == before and rotations(server) == 0, "nothing has changed")
    server.ask("CLIENT", "UNPAUSE")
    server.wait_for(lambda: rotations(server) == 2, "then the cron rotates")
    c.expect(server.ask("BF.ADD", "w", "a") == 1, "and it is new")


@case
def a_replica_rotates_when_its_master_does(c):
    clock = Clock(c)
    master = Server(c, "master", environment=clock.environment)
    replica = Server(c, "replica", environment={"BLOOMERY_CLOCK": c.path("late")})
    c.file("late", f"{START + 10 ** 12}\n")  # a replica does not look at its own clock
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    master.ask("BF.RESERVE", "w", "0.01", 100, "GENERATIONS", 4, "EVERY", 60)
    master.ask("BF.RESERVE", "by hand", "0.01", 100, "GENERATIONS", 2)
    for step in range(12):
        master.ask("BF.MADD", "w", *range(step * 20, step * 20 + 30))
        master.ask("BF.ADD", "by hand", step)
        if step % 5 == 4:
            master.ask("BF.ROTATE", "by hand")
            master.ask("BF.ROTATE", "w")
        clock.go(25)
        master.ask("WAIT", 1, 10_000)
        c.expect(replica.ask("BF.EXISTS", "w", step * 20) == 1, f"step {step}")
    done = rotations(master)
    clock.go(60)
    master.wait_for(lambda: rotations(master) > done, "the cron rotates")
    master.ask("WAIT", 1, 10_000)
    c.expect(master.digest("w", "by hand") == replica.digest("w", "by hand"), "other digests")
    # The replica becomes the master, and goes on.
    os.rename(c.path("clock"), c.path("late"))
    replica.ask("REPLICAOF", "NO", "ONE")
    c.file("late", f"{clock.now + 10 ** 6}\n")
    replica.wait_for(lambda: replica.ask("BF.CARD", "w") == 0, "it looks at its clock")


def all_ways(c, server, clock):
    """Digests of a window that went through all that keeps it."""
    before = server.digest("w")
    iterator, data = server.ask("BF.SCANDUMP", "w", 0)
    while iterator != 0:
        c.expect(server.ask("BF.LOADCHUNK", "chunks", iterator, data) == "OK", f"chunk {iterator}")
        iterator, data = server.ask("BF.SCANDUMP", "w", iterator)
    server.ask("COPY", "w", "copy")
    c.expect(server.ask("RESTORE", "restored", 0, server.ask("DUMP", "w")) == "OK", "RESTORE")
    for name in ("chunks", "copy", "restored"):
        c.expect(server.digest(name) == before, f"{name} is another window")
        c.expect(server.ask("BF.DEBUG", name) == server.ask("BF.DEBUG", "w"), name)
    server.ask("DEBUG", "RELOAD")
    c.expect(server.digest("w") == before, "DEBUG RELOAD")
    server.stop(save=True)
    server.start()
    c.expect(server.digest("w") == before, "a restart by RDB")
    clock.go(30)
    server.wait_for(lambda: server.digest("w") != before, "a loaded window is rotated too")


@case
def a_window_is_kept_by_all_that_keeps_keys(c):
    clock = Clock(c)
    server = Server(c, environment=clock.environment)
    server.ask("BF.RESERVE", "w", "0.01", 300, "GENERATIONS", 3, "EVERY", 30)
    for step in range(5):
        server.ask("BF.MADD", "w", *range(step * 100, step * 100 + 150))
        clock.go(20)
    server.wait_for(lambda: rotations(server) == 3, "rotated")
    all_ways(c, server, clock)


@case
def a_window_outlives_a_power_cut_and_a_rewritten_file(c):
    clock = Clock(c)
    server = Server(c, environment=clock.environment,
                    options=["--appendonly", "yes", "--appendfsync", "always", "--aof-use-rdb-preamble", "no"])
    server.ask("BF.RESERVE", "w", "0.01", 300, "GENERATIONS", 3, "EVERY", 30)
    for step in range(4):
        server.ask("BF.MADD", "w", *range(step * 100, step * 100 + 150))
        clock.go(20)
    server.wait_for(lambda: rotations(server) == 2, "rotated")
    for rewritten in (False, True):
        before = server.digest("w")
        if rewritten:
            server.ask("BGREWRITEAOF")
            server.wait_for(lambda: server.info("persistence")["aof_rewrite_in_progress"] == "0" and
                            server.info("persistence")["aof_rewrites"] != "0", "rewritten")
            server.ask("BF.ADD", "w", "more")
            before = server.digest("w")
        server.kill()
        server.start()
        c.expect(server.digest("w") == before, f"another window after a power cut, rewritten: {rewritten}")


@case
def a_window_that_was_renamed_is_rotated_at_its_next_use(c):
    clock = Clock(c)
    server = Server(c, environment=clock.environment)
    server.ask("BF.RESERVE", "w", "0.01", 100, "GENERATIONS", 2, "EVERY", 10)
    server.ask("BF.RESERVE", "other", "0.01", 100, "GENERATIONS", 2, "EVERY", 10)
    server.ask("BF.ADD", "w", "a")
    server.ask("RENAME", "w", "v")
    server.ask("BF.ADD", "w", "a plain filter")
    clock.go(30)
    server.wait_for(lambda: rotations(server) == 2, "the other one is rotated")
    c.expect(server.ask("BF.EXISTS", "v", "a") == 0 and server.ask("BF.ADD", "v", "a") == 1, "at its next use")
    c.expect(rotations(server) == 4 and server.ask("BF.CARD", "w") == 1, f"{rotations(server)}")
    clock.go(10)
    server.wait_for(lambda: rotations(server) == 6, "and by the cron from then on")
    server.ask("DEL", "v", "other")
    server.wait_for(lambda: server.info("bf")["bf_windows"] == "0" and server.info("bf")["bf_keys"] == "1", "windows are released")


@case
def the_rate_is_that_of_the_whole_window(c):
    server = Server(c)
    rate, each, asked = 0.01, 2000, 40_000
    server.ask("BF.RESERVE", "w", rate, each, "GENERATIONS", 5)
    for generation in range(5):
        if generation > 0:
            server.ask("BF.ROTATE", "w")
        reply = server.ask("BF.MADD", "w", *(f"in {generation} {number}" for number in range(each)))
        c.expect(len(reply) == each, "a generation has room for its items")
    found = sum(sum(server.ask("BF.MEXISTS", "w", *(f"out {number}" for number in range(first, first + 4000))))
                for first in range(0, asked, 4000))
    # Six standard deviations: one run in 10^9 fails by accident.
    c.expect(abs(found - rate * asked) < 6 * (rate * asked) ** 0.5 and server.ask("BF.INFO", "w", "ERROR")[0] in (b"0.01", b"0.01"),
             f"{found} of {asked}")
    now = float(server.ask("BF.INFO", "w", "ERRORNOW")[0])
    c.expect(0.007 < now < 0.0105, f"{now}")
    c.expect(abs(server.ask("BF.INFO", "w", "ESTIMATE")[0] - 5 * each) < 300, f"{server.ask('BF.INFO', 'w', 'ESTIMATE')}")
    c.expect(0.4 < float(server.ask("BF.INFO", "w", "FILL")[0]) < 0.55, "half full")
    c.expect("non scaling filter is full" in str(server.ask("BF.MADD", "w", *range(100))[-1]), "a generation that is full")


@case
def wrong_words_make_no_window(c):
    server = Server(c)
    for words, sentence in (
            (["GENERATIONS", 0], "ERR GENERATIONS must be in the range [2, 64]"), (["GENERATIONS", 1], "range [2, 64]"),
            (["GENERATIONS", 65], "range [2, 64]"), (["GENERATIONS", "x"], "range [2, 64]"), (["GENERATIONS"], "range [2, 64]"),
            (["GENERATIONS", 2, "EVERY", 0], "ERR EVERY must be in the range [1, 1000000000]"),
            (["GENERATIONS", 2, "EVERY", -5], "range [1, 1000000000]"), (["GENERATIONS", 2, "EVERY", 2 ** 63], "range [1, 1000000000]"),
            (["GENERATIONS", 2, "EVERY"], "range [1, 1000000000]"), (["EVERY", 5], "ERR EVERY needs GENERATIONS"),
            (["GENERATIONS", 2, "EXPANSION", 2], "ERR a window does not expand"), (["GENERATIONS", 2, "AT", -1], "ERR AT must be")):
        reply = server.ask("BF.RESERVE", "w", "0.01", 100, *words)
        c.expect(sentence in str(reply), f"{words}: {reply}")
    c.expect(server.ask("EXISTS", "w") == 0, "nothing was made")
    c.expect(server.ask("BF.ROTATE", "w") == "ERR not found", "no key")
    server.ask("BF.ADD", "plain", "x")
    c.expect(server.ask("BF.ROTATE", "plain").startswith("ERR the filter has no generations"), "a plain filter")
    server.ask("SET", "s", "x")
    c.expect(server.ask("BF.ROTATE", "s").startswith("WRONGTYPE"), "another type")
    for words in (["COUNT", 0, "AT", 5], ["COUNT", "x", "AT", 5], ["AT", 5, "COUNT", 1], ["COUNT", 1, "AT", -1], ["COUNT", 1]):
        reply = str(server.ask("BF.ROTATE", "plain", *words))
        c.expect("takes a key" in reply or "must be in the range" in reply or "wrong number" in reply, f"{words}: {reply}")
    c.expect(server.ask("BF.RESERVE", "w", "0.01", 100, "GENERATIONS", 2, "NONSCALING", "EXPANSION", 0) == "OK", "it does not expand")
    c.expect(server.ask("BF.RESERVE", "w", "0.01", 100, "GENERATIONS", 2) == "ERR item exists", "twice")
    c.expect("windows can't be merged" in server.ask("BF.MERGE", "plain", "w"), "MERGE")


@case
def limits_hold_for_all_generations_together(c):
    server = Server(c, arguments=["memory-usage-limit", "100000"])
    c.expect(server.ask("BF.RESERVE", "w", "0.01", 10_000, "GENERATIONS", 4) == "OK", "4 times 14 kB")
    c.expect(server.ask("BF.RESERVE", "v", "0.01", 10_000, "GENERATIONS", 8) == "ERR Insufficient memory to create filter", "8 times")
    header = server.ask("BF.SCANDUMP", "w", 0)[1]
    server.ask("CONFIG", "SET", "bf.memory-usage-limit", 40_000)
    c.expect(server.ask("BF.LOADCHUNK", "v", 1, header) == "ERR Insufficient memory to create filter", "LOADCHUNK")
    c.expect(server.ask("BF.LOADCHUNK", "v", 1, header[:-1]) == "ERR received bad data", "a header that is cut")
    before = int(server.info("bf")["bf_memory_bytes"])
    c.expect(server.ask("EXISTS", "v") == 0 and before < 70_000, f"nothing stays: {before}")
    for _ in range(9):
        server.ask("BF.ROTATE", "w")
    c.expect(int(server.info("bf")["bf_memory_bytes"]) == before, "a rotation takes no more")


main()
