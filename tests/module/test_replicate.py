# SPDX-License-Identifier: Apache-2.0
"""A replica and an AOF get what changed, with the numbers of the server that decided them.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

from live import Server
from runner import case, main

OTHER = ["bf-error-rate", "0.0001", "bf-initial-size", "5000", "bf-expansion-factor", "4"]


def pair(c, arguments=()):
    """A master, and a replica with other defaults."""
    master = Server(c, "master", arguments=arguments)
    replica = Server(c, "replica", arguments=OTHER)
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    return master, replica


def expect_same(c, master, replica, *names):
    """Both have the same keys."""
    master.ask("WAIT", 1, 10_000)
    c.expect(master.digest(*names) == replica.digest(*names), f"{names}: {master.digest(*names)} and {replica.digest(*names)}")
    c.expect(master.ask("DEBUG", "DIGEST") == replica.ask("DEBUG", "DIGEST"), "other digests of all")


@case
def a_replica_with_other_defaults_has_the_same_filter(c):
    master, replica = pair(c)
    master.ask("BF.ADD", "add", "x")
    master.ask("BF.MADD", "madd", "x", "y", "x")
    master.ask("BF.INSERT", "insert", "CAPACITY", "7", "ITEMS", *range(40))
    master.ask("BF.INSERT", "odd", "ERROR", "0.7", "NONSCALING", "EXPANSION", "3", "ITEMS", *range(150))
    master.ask("BF.INSERT", "zero", "EXPANSION", "0", "ITEMS", "x")
    master.ask("BF.RESERVE", "reserve", "0.07", 10)
    master.ask("BF.RESERVE", "capped", "0.3", 10, "NONSCALING")
    master.ask("BF.MADD", "reserve", *range(500))
    master.ask("BLOOM.ADD", "second", "x")
    master.ask("EVAL", "redis.call('BF.ADD', KEYS[1], 'x'); return redis.call('BF.MADD', KEYS[1], 'x', 'y')", 1, "script")
    for word in (("MULTI",), ("BF.ADD", "multi", "x"), ("BF.ADD", "multi", "y"), ("EXEC",)):
        master.ask(*word)
    iterator, data = master.ask("BF.SCANDUMP", "reserve", 0)
    while iterator != 0:
        master.ask("BF.LOADCHUNK", "loaded", iterator, data)
        iterator, data = master.ask("BF.SCANDUMP", "reserve", iterator)
    names = ["add", "madd", "insert", "odd", "zero", "reserve", "capped", "second", "script", "multi", "loaded"]
    expect_same(c, master, replica, *names)
    c.expect(replica.ask("BF.INFO", "add", "CAPACITY") == [100], "the master's defaults")
    master.ask("BF.MADD", "fixed", *range(10))
    master.ask("BF.INSERT", "full", "CAPACITY", "3", "NONSCALING", "ITEMS", *range(10))
    expect_same(c, master, replica, "fixed", "full")


@case
def limits_of_a_replica_do_not_count_against_its_master(c):
    master = Server(c, "master")
    replica = Server(c, "replica", arguments=["memory-usage-limit", "1000"])
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    master.ask("BF.RESERVE", "k", "0.001", 5000)
    master.ask("BF.MADD", "k", *range(20_000))
    expect_same(c, master, replica, "k")
    replica.ask("REPLICAOF", "NO", "ONE")
    c.expect(replica.ask("BF.RESERVE", "l", "0.001", 5000) == "ERR Insufficient memory to create filter", "its clients")


@case
def a_new_replica_gets_all_by_its_first_sync(c):
    master = Server(c, "master")
    master.ask("BF.RESERVE", "large", "0.001", 3_000_000)
    master.ask("BF.MADD", "large", *range(3000))
    master.ask("BF.RESERVE", "grown", "0.01", 5)
    master.ask("BF.MADD", "grown", *range(3000))
    replica = Server(c, "replica", arguments=OTHER, options=["--repl-diskless-load", "swapdb"])
    replica.ask("BF.ADD", "gone", "x")
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    expect_same(c, master, replica, "large", "grown")
    # It takes over.
    replica.ask("REPLICAOF", "NO", "ONE")
    c.expect(replica.ask("BF.ADD", "grown", "new") == 1 and replica.ask("BF.MEXISTS", "grown", *range(3000)) == [1] * 3000,
             "the promoted one goes on")


@case
def what_changes_nothing_is_not_passed_on(c):
    server = Server(c, options=["--appendonly", "yes", "--appendfsync", "always"])
    server.ask("BF.MADD", "k", "a", "b")
    server.ask("BF.ADD", "k", "a")
    server.ask("BF.MADD", "k", "b", "c", "a", "d")
    server.ask("BF.INSERT", "k", "ITEMS", "a", "b")
    server.ask("BF.INSERT", "k", "NOCREATE", "ITEMS", "a", "e")
    server.ask("BF.INSERT", "missing", "NOCREATE", "ITEMS", "a")
    server.ask("BF.RESERVE", "k", "0.1", 10)
    server.ask("BF.RESERVE", "r", "0.3", 10)
    server.ask("BF.RESERVE", "n", "0.1", 10, "NONSCALING")
    expected = [
        [b"BF.INSERT", b"k", b"CAPACITY", b"100", b"ERROR", b"0.01", b"EXPANSION", b"2", b"ITEMS", b"a", b"b"],
        [b"BF.MADD", b"k", b"c", b"d"],
        [b"BF.MADD", b"k", b"e"],
        [b"BF.RESERVE", b"r", b"0.25", b"10", b"EXPANSION", b"2"],
        [b"BF.RESERVE", b"n", b"0.10000000000000001", b"10", b"NONSCALING"],
    ]
    found = server.aof_commands()
    for words in found:
        words[4:6] = [b"0.01" if word == b"0.01" or word.startswith(b"0.01000000000000000") else word for word in words[4:6]]
    c.expect(found == expected, f"{found}")


@case
def watchers_hear_of_changes_alone(c):
    server = Server(c)
    server.ask("BF.MADD", "k", "a")
    other = server.connect()
    for word, changes in ((("BF.ADD", "k", "a"), False), (("BF.MADD", "k", "a", "b"), True), (("BF.MADD", "k", "a", "b"), False),
                          (("BF.EXISTS", "k", "z"), False), (("BF.INSERT", "k", "ITEMS", "c"), True),
                          (("BF.LOADCHUNK", "k", 3, b"\xff"), True), (("BF.RESERVE", "n", "0.1", 5), True)):
        other.ask("WATCH", "k", "n")
        server.ask(*word)
        other.ask("MULTI")
        other.ask("PING")
        c.expect((other.ask("EXEC") is None) == changes, f"{word}")


@case
def keyspace_events_tell_what_happened(c):
    server = Server(c)
    server.ask("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = server.connect()
    listener.ask("PSUBSCRIBE", "__keyspace*")
    server.ask("BF.ADD", "k", "a")
    server.ask("BF.ADD", "k", "a")
    server.ask("BF.ADD", "k", "b")
    server.ask("BF.RESERVE", "r", "0.1", 5)
    server.ask("SET", "end", "x")
    events = []
    while not events or events[-1] != ["end", "set"]:
        message = listener.reply().split(b"\r\n")
        name = message[6].decode().partition(":")[2]
        if message[8].decode() != "new":
            events.append([name, message[8].decode()])
    c.expect(events == [["k", "bloom.reserve"], ["k", "bloom.add"], ["k", "bloom.add"], ["r", "bloom.reserve"], ["end", "set"]],
             f"{events}")


@case
def a_key_moves_to_another_server(c):
    one, other = Server(c, "one"), Server(c, "other", arguments=OTHER)
    one.ask("BF.RESERVE", "k", "0.001", 100)
    one.ask("BF.MADD", "k", *range(5000))
    before = one.digest("k")
    c.expect(one.ask("MIGRATE", "127.0.0.1", other.port, "k", 0, 10_000) == "OK", "MIGRATE")
    c.expect(one.ask("EXISTS", "k") == 0 and other.digest("k") == before, "it is the same key there")


@case
def a_restart_with_other_defaults_changes_nothing(c):
    options = ["--appendonly", "yes", "--appendfsync", "always"]
    server = Server(c, options=options)
    server.ask("BF.MADD", "k", *range(300))
    before = server.digest("k")
    server.stop()
    again = Server(c, arguments=OTHER, options=options)
    c.expect(again.digest("k") == before, "another filter")


main()
