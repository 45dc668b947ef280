# SPDX-License-Identifier: Apache-2.0
"""What a server does with keys of any type, and with commands of any module: expiry, eviction, transactions,
scripts, access control, databases.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import os
import signal
import subprocess
import sys
import time

from live import HERE, Error, Server
from runner import Difference, case, main

# Command -> its categories, which are the reference's; `bloom` or `cuckoo` comes besides.
CATEGORIES = {
    "reserve": {"write", "fast"}, "add": {"write"}, "madd": {"write"}, "insert": {"write"}, "loadchunk": {"write"},
    "exists": {"read"}, "mexists": {"read"}, "card": {"read", "fast"}, "info": {"read", "fast"}, "debug": {"read"},
    "scandump": {"read"}, "clear": {"write"}, "merge": {"write"}, "rotate": {"write"},
}
CUCKOO_CATEGORIES = {
    "reserve": {"write", "fast"}, "add": {"write"}, "addnx": {"write"}, "insert": {"write"}, "insertnx": {"write"},
    "loadchunk": {"write"}, "exists": {"read"}, "mexists": {"read"}, "count": {"read"}, "del": {"write"}, "compact": {"write"},
    "info": {"read", "fast"}, "debug": {"read"}, "scandump": {"read"},
}
# As few words as each takes behind its name.
WORDS = {"clear": 1, "rotate": 1, "card": 1, "info": 1, "debug": 1, "add": 2, "madd": 2, "exists": 2, "mexists": 2, "scandump": 2,
         "addnx": 2, "count": 2, "del": 2, "compact": 1}


def has_categories(server):
    """Whether the server lets a module say the categories of its commands."""
    return [int(part) for part in server.info("server")["redis_version"].split(".")] >= [7, 2]


def wait_for_no_memory(server):
    """All that filters took is given back."""
    for name in ("bf_keys", "bf_memory_bytes"):
        server.wait_for(lambda name=name: server.info("bf")[name] == "0", f"{name} is 0")


@case
def a_key_expires_with_its_memory(c):
    server = Server(c)
    server.ask("BF.RESERVE", "k", "0.01", 1000)
    c.expect(server.ask("PEXPIRE", "k", 100_000) == 1, "PEXPIRE")
    server.ask("BF.MADD", "k", *range(5000))
    c.expect(0 < server.ask("PTTL", "k") <= 100_000, "adding leaves the time to live as it is")
    c.expect(server.ask("PERSIST", "k") == 1 and server.ask("PTTL", "k") == -1, "PERSIST")
    server.ask("PEXPIRE", "k", 1)
    server.wait_for(lambda: server.ask("EXISTS", "k") == 0, "the key expires")
    c.expect(server.ask("BF.EXISTS", "k", 1) == 0 and server.ask("BF.CARD", "k") == 0, "nothing is in it")
    wait_for_no_memory(server)
    c.expect(server.ask("BF.ADD", "k", 1) == 1 and server.ask("PTTL", "k") == -1, "a new one, without an end")


@case
def the_time_to_live_is_restored_and_copied(c):
    server = Server(c)
    server.ask("BF.MADD", "k", *range(300))
    server.ask("PEXPIRE", "k", 100_000)
    server.ask("RESTORE", "r", 50_000, server.ask("DUMP", "k"))
    server.ask("COPY", "k", "c")
    server.ask("RENAME", "k", "n")
    for name in ("r", "c", "n"):
        c.expect(40_000 < server.ask("PTTL", name) <= 100_000, f"{name}: {server.ask('PTTL', name)}")
    c.expect(len(set(server.digest("r", "c", "n"))) == 1, "they are one filter")
    c.expect(server.ask("RESTORE", "n", 0, server.ask("DUMP", "c")).startswith("BUSYKEY"), "a name that is taken")


@case
def keys_move_between_databases(c):
    server = Server(c)
    server.ask("BF.MADD", "k", *range(300))
    before = server.digest("k")
    c.expect(server.ask("MOVE", "k", 1) == 1 and server.ask("EXISTS", "k") == 0, "MOVE")
    c.expect(server.ask("COPY", "k", "k", "DB", 1) == 0, "COPY of none")
    server.ask("SELECT", 1)
    c.expect(server.digest("k") == before, "it is the same key there")
    c.expect(server.ask("COPY", "k", "k", "DB", 0) == 1 and server.ask("SWAPDB", 0, 1) == "OK", "COPY and SWAPDB")
    c.expect(server.digest("k") == before, "and after SWAPDB")
    c.expect(server.ask("SCAN", 0, "TYPE", "MBbloom--")[1] == [b"k"] and server.ask("OBJECT", "ENCODING", "k") == b"raw",
             f"{server.ask('SCAN', 0, 'TYPE', 'MBbloom--')} {server.ask('OBJECT', 'ENCODING', 'k')}")
    server.ask("FLUSHALL")
    wait_for_no_memory(server)


@case
def keys_that_are_evicted_give_their_memory_back(c):
    server = Server(c, options=["--maxmemory", "20mb", "--maxmemory-policy", "allkeys-lru"])
    made = 0
    for number in range(60):
        made += server.ask("BF.RESERVE", f"k{number}", "0.001", 500_000) == "OK"  # 0.9 MB each
    c.expect(made > 20, f"{made} were made")
    there = server.ask("DBSIZE")
    c.expect(there < made, f"{there} of {made} are there")
    server.wait_for(lambda: int(server.info("bf")["bf_keys"]) == server.ask("DBSIZE"), "those that are gone are released")
    c.expect(int(server.info("bf")["bf_memory_bytes"]) < 20 << 20, f"{server.info('bf')}")


@case
def a_server_without_memory_refuses_to_add_and_answers(c):
    server = Server(c)
    server.ask("BF.MADD", "k", "a", "b")
    server.ask("CONFIG", "SET", "maxmemory", "1")
    for words in (("BF.ADD", "k", "c"), ("BF.MADD", "k", "c"), ("BF.INSERT", "k", "ITEMS", "c"), ("BF.RESERVE", "n", "0.1", 5),
                  ("BF.LOADCHUNK", "k", 3, b"\xff")):
        c.expect(str(server.ask(*words)).startswith("OOM"), f"{words}")
    c.expect(server.ask("BF.MEXISTS", "k", "a", "c") == [1, 0] and server.ask("BF.CARD", "k") == 2, "reading goes on")


@case
def a_transaction_runs_as_a_whole(c):
    server = Server(c)
    server.ask("SET", "s", "x")
    server.ask("MULTI")
    for words in (("BF.RESERVE", "k", "0.01", 10), ("BF.MADD", "k", "a", "b", "a"), ("BF.ADD", "s", "x"), ("BF.MEXISTS", "k", "a", "z"),
                  ("BF.RESERVE", "k", "0.01", 10), ("BF.CARD", "k")):
        c.expect(server.ask(*words) == "QUEUED", f"{words}")
    replies = server.ask("EXEC")
    c.expect(replies[0] == "OK" and replies[1] == [1, 1, 0] and replies[2].startswith("WRONGTYPE") and replies[3] == [1, 0],
             f"{replies}")
    c.expect(isinstance(replies[4], Error) and "item exists" in replies[4] and replies[5] == 2, f"{replies}")
    server.ask("MULTI")
    c.expect(server.ask("BF.ADD", "k").endswith("'bf.add' command") and server.ask("EXEC").startswith("EXECABORT"), "a wrong arity")
    server.ask("MULTI")
    server.ask("BF.ADD", "k", "never")
    c.expect(server.ask("DISCARD") == "OK" and server.ask("BF.EXISTS", "k", "never") == 0, "DISCARD")


@case
def scripts_get_replies_and_errors(c):
    server = Server(c)
    c.expect(server.ask("EVAL", "return redis.call('BF.MADD', KEYS[1], 'a', 'b', 'a')", 1, "k") == [1, 1, 0], "numbers")
    c.expect(server.ask("EVAL", "return redis.call('BF.INFO', KEYS[1], 'ITEMS')", 1, "k") == [2], "facts")
    c.expect(server.ask("EVAL", "redis.setresp(3); return redis.call('BF.EXISTS', KEYS[1], 'a') == true and 7 or 8", 1, "k") == 7,
             "booleans, by RESP3")
    c.expect(b"item exists" in server.ask("EVAL", "return redis.pcall('BF.RESERVE', KEYS[1], '0.1', '5').err", 1, "k"), "errors")
    c.expect("Write commands are not allowed" in server.ask("EVAL_RO", "return redis.call('BF.ADD', KEYS[1], 'c')", 1, "k"), "EVAL_RO")
    c.expect(server.ask("EVAL_RO", "return redis.call('BF.MEXISTS', KEYS[1], 'a', 'c')", 1, "k") == [1, 0], "EVAL_RO")
    code = "#!lua name=own\nredis.register_function('seen', function(keys, items) return redis.call('BF.ADD', keys[1], items[1]) end)"
    c.expect(server.ask("FUNCTION", "LOAD", code) == b"own", "a function")
    c.expect([server.ask("FCALL", "seen", 1, "k", "new") for _ in range(2)] == [1, 0], "a function")


@case
def a_replica_takes_no_writes_of_its_own(c):
    master, replica = Server(c, "master"), Server(c, "replica")
    master.ask("BF.ADD", "k", "x")
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    c.expect(str(replica.ask("BF.ADD", "k", "y")).startswith("READONLY") and replica.ask("BF.MEXISTS", "k", "x", "y") == [1, 0],
             "it answers, and takes nothing")
    master.ask("PEXPIRE", "k", 1)
    replica.wait_for(lambda: replica.ask("EXISTS", "k") == 0 and replica.info("bf")["bf_keys"] == "0", "expiry is passed on")


@case
def categories_and_keys_of_commands_are_known(c):
    server = Server(c)
    commands = [("bloom", family, *row) for family in ("bf", "bloom") for row in CATEGORIES.items()]
    commands += [("cuckoo", family, *row) for family in ("cf", "bloom.cf") for row in CUCKOO_CATEGORIES.items()]
    for own, family, name, categories in commands:
        words = [f"{family}.{name}", "the key", "0.1", "2"][:1 + WORDS.get(name, 3)]
        keys = words[1:] if name == "merge" else words[1:2]
        c.expect(server.ask("COMMAND", "GETKEYS", *words) == [key.encode() for key in keys], f"{words}")
        if has_categories(server):
            told = server.ask("COMMAND", "INFO", words[0])[0][6]
            c.expect(set(told) == {"@" + own} | {"@" + category for category in categories} or
                     set(told) == {own} | categories, f"{words[0]}: {told}")
    if has_categories(server):
        # Valkey 8.0 lists no commands of modules under a category, but counts them.
        c.expect(b"bloom" in server.ask("ACL", "CAT"), f"{server.ask('ACL', 'CAT')}")
        server.ask("ACL", "SETUSER", "filters", "on", "nopass", "~*", "+@bloom")
        user = server.connect()
        user.ask("AUTH", "filters", "x")
        c.expect(user.ask("BF.ADD", "k", "x") == 1 and str(user.ask("SET", "s", "x")).startswith("NOPERM"), "one category")
        server.ask("ACL", "SETUSER", "cuckoos", "on", "nopass", "~*", "+@cuckoo")
        user.ask("AUTH", "cuckoos", "x")
        c.expect(user.ask("CF.ADD", "c", "x") == 1 and str(user.ask("BF.ADD", "k", "x")).startswith("NOPERM"), "the other one")


@case
def a_user_reaches_its_own_keys_alone(c):
    server = Server(c)
    server.ask("ACL", "SETUSER", "one", "on", "nopass", "resetkeys", "~own:*", "%R~shared:*", "+bf.add", "+bf.exists", "+bf.madd")
    server.ask("BF.ADD", "shared:k", "x")
    user = server.connect()
    user.ask("AUTH", "one", "x")
    c.expect(user.ask("BF.ADD", "own:k", "x") == 1 and user.ask("BF.EXISTS", "shared:k", "x") == 1, "what it may")
    for words in (("BF.ADD", "shared:k", "y"), ("BF.ADD", "other", "x"), ("BF.EXISTS", "other", "x"), ("BLOOM.ADD", "own:k", "y"),
                  ("BF.RESERVE", "own:n", "0.1", 5)):
        c.expect(str(user.ask(*words)).startswith("NOPERM"), f"{words}: {user.ask(*words)}")


@case
def a_rule_that_removes_a_command_removes_the_name_that_it_says(c):
    """docs/server.md: a rule must remove both names, or the category."""
    server = Server(c)
    rules = [("-bf.reserve", {"bf.reserve"}), ("-bf.reserve -bloom.reserve -cf.del -bloom.cf.del", {"bf.reserve", "bloom.reserve", "cf.del", "bloom.cf.del"})]
    commands = {"bf.reserve": ("r", "0.1", 5), "bloom.reserve": ("s", "0.1", 5), "cf.del": ("c", "x"), "bloom.cf.del": ("c", "x")}
    if has_categories(server):
        rules += [("-@bloom", {"bf.reserve", "bloom.reserve"}), ("-@bloom -@cuckoo", set(commands))]
    for number, (rule, removed) in enumerate(rules):
        c.expect(server.ask("ACL", "SETUSER", f"user-{number}", "on", "nopass", "~*", "+@all", *rule.split()) == "OK", rule)
        user = server.connect()
        user.ask("AUTH", f"user-{number}", "x")
        found = {name for name, words in commands.items() if str(user.ask(name, *words)).startswith("NOPERM")}
        c.expect(found == removed, f"{rule}: {found}")


@case
def the_sources_of_a_merge_need_to_be_read_alone(c):
    server = Server(c)
    server.ask("ACL", "SETUSER", "one", "on", "nopass", "resetkeys", "~own:*", "%R~shared:*", "%W~blind:*", "+bf.merge")
    for key in ("shared:k", "other", "blind:k"):
        server.ask("BF.ADD", key, "x")
    user = server.connect()
    user.ask("AUTH", "one", "x")
    c.expect(user.ask("BF.MERGE", "own:k", "shared:k", "own:k") in ("OK", "ERR not found"), "what it may")
    c.expect(user.ask("BF.MERGE", "own:k", "shared:k") == "OK" and server.ask("BF.EXISTS", "own:k", "x") == 1, "merged")
    for words in (("shared:k", "own:k"), ("own:k", "other"), ("own:k", "shared:k", "blind:k"), ("blind:k", "own:k")):
        c.expect(str(user.ask("BF.MERGE", *words)).startswith("NOPERM"), f"{words}: {user.ask('BF.MERGE', *words)}")


KEPT = """
import sys, time
sys.argv = [sys.argv[0]]
from live import Server
from runner import Context
server = Server(Context(sys.stdin.readline().strip()))
print(server.process.pid, flush=True)
time.sleep(60)  # it is killed before
"""


@case
def servers_end_when_the_test_is_killed(c):
    Server(c).stop()  # or skipped, where there is none
    child = c.spawn([sys.executable, "-c", KEPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join([HERE, os.path.join(os.path.dirname(HERE), "cli")])})
    child.stdin.write(c.directory.encode() + b"\n")
    child.stdin.flush()
    server = int(child.stdout.readline())
    c.expect(os.path.exists(f"/proc/{server}"), "the server runs")
    child.send_signal(signal.SIGKILL)
    child.wait()
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{server}"):
        with open(f"/proc/{server}/stat", encoding="ascii", errors="replace") as file:
            if file.read().rpartition(")")[2].split()[0] == "Z":
                return  # it ended; nobody asks for its exit status here
        if time.monotonic() > end:
            os.kill(server, signal.SIGKILL)
            raise Difference("the server goes on")
        time.sleep(0.02)  # between two looks


main()
