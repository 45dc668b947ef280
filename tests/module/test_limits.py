# SPDX-License-Identifier: Apache-2.0
"""Limits, module arguments, CONFIG and INFO.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import contextlib
import os
import re

from live import MODULE, Error, Server, die_with_parent
from runner import Skip, case, main

KEY_BYTES = 540  # what a filter of BF.ADD's takes more than an empty string; 400 are the goal


@case
def a_filter_beyond_the_limit_is_not_made(c):
    server = Server(c, arguments=["memory-usage-limit", "100000"])
    refused = "ERR Insufficient memory to create filter"
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 1_000_000) == refused, "RESERVE")
    c.expect(server.ask("BF.INSERT", "k", "CAPACITY", 1_000_000, "ITEMS", "x") == refused, "INSERT")
    c.expect(server.ask("EXISTS", "k") == 0, "nothing stays")
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 10_000) == "OK", "a smaller one is made")
    reply = server.ask("BF.MADD", "k", *range(100_000))
    c.expect(reply[-1] == "ERR problem inserting into filter" and 10_000 < len(reply) < 90_000, f"{len(reply)}")
    c.expect(server.ask("BF.MEXISTS", "k", *range(len(reply) - 1)) == [1] * (len(reply) - 1), "what was added stays")
    c.expect(int(server.info("bf")["bf_memory_bytes"]) <= 100_000, f"{server.info('bf')}")
    c.expect(server.ask("CONFIG", "SET", "bf.memory-usage-limit", "10mb") == "OK", "the limit can be raised")
    c.expect(server.ask("BF.ADD", "k", "a new one") == 1, "and the filter grows")
    # A header that asks for a GiB.
    source = Server(c, "source")
    source.ask("BF.RESERVE", "k", "0.0001", 1 << 29)
    header = source.ask("BF.SCANDUMP", "k", 0)[1]
    c.expect(server.ask("BF.LOADCHUNK", "l", 1, header) == refused, "LOADCHUNK")
    facts = server.info("bf")
    c.expect(int(facts["bf_refusals"]) == int(facts["bf_refused_by_key_limit"]) >= 4, f"{facts}")


@case
def maxmemory_is_kept_before_anything_is_taken(c):
    server = Server(c, options=["--maxmemory", "64mb"])
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 1 << 30) == "ERR Insufficient memory to create filter", "1.8 GiB")
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 1 << 20) == "OK", "1.8 MiB")


@case
def an_evicting_server_makes_filters_when_its_cache_is_full(c):
    server = Server(c, options=["--maxmemory", "24mb", "--maxmemory-policy", "allkeys-lru"])
    for first in range(0, 30_000, 1000):
        server.ask("MSET", *(word for number in range(first, first + 1000) for word in (f"s{number}", "x" * 1000)))
    c.expect(server.ask("DBSIZE") < 25_000, "the cache is full")
    c.expect(server.ask("BF.RESERVE", "f", "0.001", 1_000_000) == "OK", "1.8 MB")
    c.expect(server.ask("BF.RESERVE", "g", "0.001", 250_000) == "OK", "0.5 MB, which grows")
    for first in range(0, 400_000, 5_000):
        c.expect(server.ask("BF.MADD", "g", *range(first, first + 5_000))[-1] in (0, 1), f"it grows, {first}")
    c.expect(server.ask("BF.RESERVE", "h", "0.001", 20_000_000) == REFUSED, "what is larger than maxmemory is refused")
    c.expect(server.info("bf")["bf_refused_by_maxmemory"] == "1", f"{server.info('bf')}")
    # All generations of a window, and all layers of a chain, count together.
    c.expect(server.ask("BF.RESERVE", "w", "0.001", 1_000_000, "GENERATIONS", 64) == REFUSED, "64 of 2.6 MB")
    c.expect(server.ask("BF.RESERVE", "w", "0.001", 1_000_000, "GENERATIONS", 4) == "OK", "4 of 2.2 MB")
    server.ask("FLUSHALL", "SYNC")  # later servers free in another thread, and evict what comes before it is done
    server.ask("CONFIG", "SET", "maxmemory", 4 << 20)
    server.ask("BF.RESERVE", "c", "1e-12", 40_000, "EXPANSION", 2)  # 0.3 MB, 0.6, 1.2; the fourth has 2.5
    for first in range(0, 600_000, 10_000):
        reply = server.ask("BF.MADD", "c", *range(first, first + 10_000))
        if reply[-1] not in (0, 1):
            break
    c.expect(reply[-1] == "ERR problem inserting into filter" and first == 280_000, f"{first}: {reply[-1]}")


@case
def what_is_cleared_or_rotated_pushes_no_key_out(c):
    server = Server(c, options=["--maxmemory", "40mb", "--maxmemory-policy", "allkeys-lru"], arguments=["prefault", "no"])
    server.ask("BF.RESERVE", "f", "0.001", 7_000_000)  # 13.4 MB
    server.ask("BF.RESERVE", "w", "0.001", 3_500_000, "GENERATIONS", 2)  # 2 of 6.7 MB
    server.ask("BF.RESERVE", "chain", "1e-12", 20_000, "EXPANSION", 4)  # 0.15 MB, 0.6, 2.5
    for key, count in (("f", 1000), ("w", 1000), ("chain", 110_000)):
        for first in range(0, count, 1000):
            server.ask("BF.MADD", key, *range(first, first + 1000))
    for number in range(8000):
        server.client.send("SET", f"s{number}", "x" * 750)
    c.expect([server.client.reply() for number in range(8000)] == [b"+OK\r\n"] * 8000, "other keys")
    before, evicted = server.ask("DBSIZE"), server.info("stats")["evicted_keys"]
    for words in (("BF.CLEAR", "f"), ("BF.ROTATE", "w"), ("BF.CLEAR", "w"), ("BF.CLEAR", "chain")):
        c.expect(server.ask(*words) == "OK" and server.ask("SET", "s1", "x") == "OK", f"{words}")
        c.expect(server.ask("DBSIZE") == before, f"{words}: {server.ask('DBSIZE')} of {before} keys are left")
    c.expect(server.info("stats")["evicted_keys"] == evicted, "keys were evicted")
    for key in ("f", "w", "chain"):
        c.expect(server.ask("BF.CARD", key) == 0 and sum(server.ask("BF.MEXISTS", key, *range(1000))) == 0, f"{key} is empty")
        c.expect(sum(server.ask("BF.MADD", key, *range(1000))) == 1000, f"{key} takes items")


@case
def capacities_that_cannot_be_are_errors(c):
    server = Server(c)
    for rate in ("1e-300", "5e-324", "1e-15"):
        reply = server.ask("BF.RESERVE", "k", rate, 1 << 30)
        c.expect(reply == "OK" or "create filter" in reply, f"{rate}: {reply}")
        server.ask("DEL", "k")
    c.expect(server.ask("PING") == "PONG", "the server lives")


@case
def a_filter_larger_than_the_machine_is_refused(c):
    server = Server(c, arguments=["max-capacity", str(1 << 40)])
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    reply = server.ask("BF.RESERVE", "k", "0.001", memory, "NONSCALING")  # 1.8 bytes an item
    c.expect(reply == "ERR Insufficient memory to create filter", f"{reply}")
    c.expect(server.info("bf")["bf_memory_bytes"] == "0", "nothing is taken")
    c.expect(server.info("bf")["bf_refused_by_machine"] == "1", f"{server.info('bf')}")
    c.expect(server.ask("BF.ADD", "k", "x") == 1, "and the server goes on")


@case
def a_chain_that_cannot_grow_says_so_and_is_counted(c):
    """Each layer has half the rate of the one before, until there is no lower rate."""
    server = Server(c)
    server.ask("BF.RESERVE", "k", "1e-290", 1, "EXPANSION", 1)
    reply = server.ask("BF.MADD", "k", *range(200))
    c.expect(reply[-1] == "ERR problem inserting into filter" and 20 < len(reply) < 80, f"{len(reply)} {reply[-1]}")
    c.expect(server.ask("BF.MEXISTS", "k", *range(len(reply) - 1)) == [1] * (len(reply) - 1), "what was added stays")
    facts = server.info("bf")
    c.expect(facts["bf_refused_by_chain_end"] == facts["bf_refusals"] == "1", f"{facts}")
    server.ask("BF.RESERVE", "l", "0.01", 1, "EXPANSION", 1)
    reply = server.ask("BF.MADD", "l", *range(4000))
    c.expect(server.ask("BF.INFO", "l", "FILTERS") == [1017] and reply[-1] == "ERR problem inserting into filter", "docs/server.md has 1,017")


def container(c, limit, used):
    """Writes files as the kernel has them in a container of this limit, and returns the environment that leads there."""
    if "BLOOMERY_TEST_NO_SWITCH" in os.environ:
        raise Skip("a release build has no switch for the limits of memory")
    for name, text in (("proc/self/cgroup", "4:memory:/pod\n"),
                       ("proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"),
                       ("sys/fs/cgroup/memory/pod/memory.limit_in_bytes", f"{limit}\n"),
                       ("sys/fs/cgroup/memory/pod/memory.usage_in_bytes", f"{used}\n")):
        os.makedirs(c.path(os.path.dirname(f"root/{name}")), exist_ok=True)
        c.file(f"root/{name}", text)
    return {"BLOOMERY_LIMITS_ROOT": c.path("root")}


MIB = 1 << 20
REFUSED = "ERR Insufficient memory to create filter"


@case
def a_filter_larger_than_the_container_is_refused(c):
    server = Server(c, environment=container(c, 300 * MIB, 20 * MIB), arguments=["prefault", "no"])
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 300_000_000, "NONSCALING") == REFUSED, "343 MiB")
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 200_000_000, "NONSCALING") == "OK", "229 MiB")
    c.expect(server.ask("BF.RESERVE", "l", "0.01", 100_000_000, "NONSCALING") == REFUSED, "two that are not used yet, and do not fit together")
    c.expect(server.ask("BF.INSERT", "l", "CAPACITY", 100_000_000, "ITEMS", "x") == REFUSED, "INSERT")
    server.ask("DEL", "k")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "Valkey releases it in the background")
    c.expect(server.ask("BF.RESERVE", "l", "0.01", 100_000_000, "NONSCALING") == "OK", "114 MiB alone")
    container(c, 300 * MIB, 250 * MIB)
    c.expect(server.ask("BF.RESERVE", "m", "0.01", 40_000_000) == REFUSED, "46 MiB where others left 31")


@case
def a_chain_grows_no_further_than_the_container(c):
    server = Server(c, environment=container(c, 16 * MIB, 4 * MIB))
    server.ask("BF.RESERVE", "k", "0.001", 100_000, "EXPANSION", 8)
    added = 0
    for first in range(0, 8_000_000, 10_000):
        reply = server.ask("BF.MADD", "k", *range(first, first + 10_000))
        added += len([answer for answer in reply if answer in (0, 1)])
        if len(reply) < 10_000 or reply[-1] not in (0, 1):
            break
    c.expect(reply[-1] == "ERR problem inserting into filter" and 100_000 < added < 7_500_000, f"{added}: {reply[-1]}")
    c.expect(server.ask("BF.MEXISTS", "k", *range(0, added, 1000)) == [1] * len(range(0, added, 1000)), "what was added stays")


@case
def pages_are_taken_no_further_than_a_quarter_of_the_container(c):
    server = Server(c, environment=container(c, 300 * MIB, 230 * MIB))
    c.expect(server.ask("BF.RESERVE", "k", "0.01", 30_000_000) == "OK", "34 MiB")
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "its pages are not taken")
    c.expect(server.info("bf")["bf_populated_bytes"] == "0", f"{server.info('bf')}")
    container(c, 300 * MIB, 100 * MIB)
    c.expect(server.ask("BF.RESERVE", "l", "0.01", 30_000_000) == "OK", "another")
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "its pages are taken")
    c.expect(int(server.info("bf")["bf_populated_bytes"]) > 30 * MIB, f"{server.info('bf')}")


@case
def a_payload_larger_than_the_container_is_refused_and_logged(c):
    environment = container(c, 300 * MIB, 20 * MIB)
    server = Server(c, environment=environment)
    server.ask("BF.RESERVE", "k", "0.01", 30_000_000)
    server.ask("BF.ADD", "k", "x")
    payload = server.ask("DUMP", "k")
    container(c, 300 * MIB, 290 * MIB)
    c.expect(server.ask("RESTORE", "l", 0, payload) == "ERR Bad data format", "34 MiB where 10 are left")
    c.expect("bytes are more than the 10485760 that the container's memory limit leaves" in server.log(), server.log()[-600:])
    container(c, 300 * MIB, 20 * MIB)
    c.expect(server.ask("RESTORE", "l", 0, payload) == "OK" and server.ask("BF.EXISTS", "l", "x") == 1, "with more memory")


@case
def in_a_control_group_the_server_outlives_what_is_reserved(c):
    second = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    folder = f"/sys/fs/cgroup/{'' if second else 'memory/'}{os.path.basename(c.directory)}"
    try:
        os.mkdir(folder)
        with open(f"{folder}/memory.{'max' if second else 'limit_in_bytes'}", "w", encoding="ascii") as file:
            file.write(str(300 * MIB))
    except OSError as why:
        if os.path.isdir(folder):
            os.rmdir(folder)
        raise Skip(f"no control group can be made here: {why}") from why

    def enter():
        die_with_parent()
        with open(f"{folder}/cgroup.procs", "w", encoding="ascii") as file:
            file.write("0")

    try:
        server = Server(c, enter=enter)
        c.expect(server.ask("BF.RESERVE", "k", "0.01", 300_000_000, "NONSCALING") == REFUSED, "343 MiB")
        c.expect(server.ask("BF.RESERVE", "k", "0.01", 220_000_000, "NONSCALING") == "OK", "252 MiB")
        server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "its pages are taken")
        c.expect(int(server.info("bf")["bf_populated_bytes"]) < 245 * MIB, f"{server.info('bf')}")
        c.expect(server.ask("BF.ADD", "k", "x") == 1 and server.ask("BF.EXISTS", "k", "x") == 1, "it goes on")
        server.stop()
    finally:
        c.end()
        os.rmdir(folder)


@case
def capacities_beyond_the_reference_are_for_who_allows_them(c):
    server = Server(c, arguments=["prefault", "no"])
    replica = Server(c, "replica", arguments=["prefault", "no"])
    replica.ask("REPLICAOF", "127.0.0.1", server.port)
    replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
    large = (1 << 30) + 1
    c.expect(server.ask("BF.RESERVE", "k", "0.25", large) == "ERR capacity must be in the range [1, 1073741824]", "not by itself")
    c.expect(server.ask("BF.INSERT", "k", "CAPACITY", large, "ITEMS", "x") == "Bad capacity", "not by itself")
    c.expect(server.ask("CONFIG", "SET", "bf.max-capacity", 1 << 31) == "OK", "allowed")
    c.expect(server.ask("BF.RESERVE", "k", "0.25", large, "NONSCALING") == "OK", "made")
    c.expect(server.ask("BF.INSERT", "l", "CAPACITY", large, "ERROR", "0.25", "ITEMS", "x") == [1], "made")
    c.expect(server.ask("BF.RESERVE", "m", "0.25", (1 << 31) + 1) == "ERR capacity must be in the range [1, 2147483648]", "and no more")
    c.expect("between 1073741824 and 1099511627776" in server.ask("CONFIG", "SET", "bf.max-capacity", 1), "the range")
    c.expect(server.ask("BF.MADD", "k", "a", "b") == [1, 1] and server.ask("BF.MEXISTS", "k", "a", "c", "b") == [1, 0, 1], "it works")
    # A replica that would not allow it itself has it all the same.
    replica.wait_for(lambda: replica.ask("BF.MEXISTS", "k", "a", "b") == [1, 1], "the replica")
    for name in ("k", "l"):
        c.expect(replica.ask("BF.INFO", name) == server.ask("BF.INFO", name), name)


@case
def a_smaller_chunk_size_hands_out_the_same_filter(c):
    server = Server(c, arguments=["scandump-chunk-size", "65536"])
    server.ask("BF.RESERVE", "k", "0.01", 50_000, "EXPANSION", 2)
    server.ask("BF.MADD", "k", *range(120_000))
    whole, iterator, sizes = [], 0, []
    while True:
        iterator, data = server.ask("BF.SCANDUMP", "k", iterator)
        if iterator == 0:
            break
        sizes.append(len(data))
        whole.append(data)
        c.expect(server.ask("BF.LOADCHUNK", "l", iterator, data) == "OK", f"chunk {len(sizes)}")
    # Chunks end at the size, and where a link ends.
    c.expect(max(sizes[1:]) == 65536 and len([size for size in sizes[1:] if size < 65536]) == 2, f"{sizes}")
    c.expect(server.digest("k") == server.digest("l"), "another filter")
    c.expect(server.ask("CONFIG", "SET", "bf.scandump-chunk-size", "16mb") == "OK", "larger")
    chunks, iterator = [], 0
    while True:
        iterator, data = server.ask("BF.SCANDUMP", "k", iterator)
        if iterator == 0:
            break
        chunks.append(data)
    c.expect(len(chunks) == 3 and b"".join(chunks) == b"".join(whole), "other bytes")
    for size in ("65535", "17mb"):
        c.expect("between 65536 and 16777216" in server.ask("CONFIG", "SET", "bf.scandump-chunk-size", size), size)


@case
def settings_of_valkey_bloom_end_no_start(c):
    server = Server(c)
    server.stop()
    server.options = ["--save", "", "--loadmodule", MODULE, "bloom-use-random-seed", "no", "--bf.bloom-tightening-ratio", "0.8",
                      "--bf.bloom-capacity", "200", "--bf.bloom-defrag-enabled", "yes", "--bf.bloom-memory-usage-limit", "128mb"]
    server.start()
    c.expect(server.ask("CONFIG", "GET", "bf.bloom-tightening-ratio")[1] == b"0.8", "what was configured is returned")
    c.expect(server.ask("CONFIG", "GET", "bf.bloom-use-random-seed")[1] == b"no", "what was configured is returned")
    c.expect("bloom-use-random-seed is of no use here" in server.log(), "the log says that it decides nothing")
    server.ask("BF.ADD", "k", "x")
    c.expect(server.ask("BF.INFO", "k", "CAPACITY") == [200] and b"ratio:0.005" in server.ask("BF.DEBUG", "k")[1], "the rest counts")
    c.expect("range (0.000000, 1.000000)" in server.ask("CONFIG", "SET", "bf.bloom-tightening-ratio", "1"), "a ratio")


@case
def a_large_filter_takes_no_memory_before_it_is_used(c):
    server = Server(c, arguments=["prefault", "no"])
    before = int(server.info("memory")["used_memory_rss"])
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 500_000_000) == "OK", "0.9 GB")
    server.ask("BF.ADD", "k", "x")
    after = int(server.info("memory")["used_memory_rss"])
    c.expect(after - before < 50_000_000, f"{after - before} bytes were touched")


@case
def pages_of_a_large_filter_are_taken_in_the_background(c):
    server = Server(c)
    before = int(server.info("memory")["used_memory_rss"])
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 30_000_000) == "OK", "54 MB")
    size = server.ask("BF.INFO", "k", "SIZE")[0]
    server.wait_for(lambda: int(server.info("bf")["bf_populated_bytes"]) >= size - 200, "populated")
    server.wait_for(lambda: int(server.info("memory")["used_memory_rss"]) - before > size // 2, "the pages are there")
    c.expect(server.ask("BF.CARD", "k") == 0 and server.ask("BF.EXISTS", "k", "x") == 0, "and nothing is in it")


def huge_pages(server):
    """The bytes that the server's process has in them."""
    with open(f"/proc/{server.process.pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("AnonHugePages:"))


def can_join_pages():
    """Whether the kernel makes huge pages on demand. Where they are always on, the server turns them off for itself."""
    release = tuple(int(number) for number in re.findall(r"\d+", os.uname().release)[:2])
    with contextlib.suppress(OSError), open("/sys/kernel/mm/transparent_hugepage/enabled", encoding="ascii") as file:
        return "[madvise]" in file.read() and release >= (6, 1)
    return False


@case
def pages_of_a_large_filter_are_huge_and_again_after_a_child(c):
    server = Server(c)
    if not can_join_pages():
        raise Skip("no huge pages on demand here")
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 60_000_000, "NONSCALING") == "OK", "108 MB")
    early = [f"early {number}" for number in range(1000)]
    for number in range(0, 1000, 100):
        server.ask("BF.MADD", "k", *early[number:number + 100])
    size = server.ask("BF.INFO", "k", "SIZE")[0]
    def settled():
        return server.info("bf")["bf_populating"] == "0"
    server.wait_for(settled, "its pages are huge")
    had, counted = huge_pages(server), int(server.info("bf")["bf_huge_page_bytes"])
    c.expect(size - (8 << 20) < counted <= had, f"{had} bytes of {size} are in huge pages, {counted} are counted")
    c.expect(server.ask("BF.MEXISTS", "k", *early) == [1] * 1000, "what was added during this is there")
    # A write while a child lives makes small pages of one that is shared with it.
    server.ask("CONFIG", "SET", "rdb-key-save-delay", 2_000_000)
    server.ask("BGSAVE")
    server.wait_for(lambda: server.info("persistence")["rdb_bgsave_in_progress"] == "1", "a child")
    for number in range(20):
        server.ask("BF.MADD", "k", *range(100 * number, 100 * number + 100))
    c.expect(huge_pages(server) < had // 2, "most pages are small now")
    server.wait_for(lambda: server.info("persistence")["rdb_bgsave_in_progress"] == "0", "the child ends")
    server.wait_for(settled, "its pages are joined again")
    c.expect(huge_pages(server) > size - (8 << 20), "all pages are huge again")
    c.expect(server.ask("BF.MEXISTS", "k", *range(2000)) == [1] * 2000, "all items are there")
    server.ask("UNLINK", "k")
    server.wait_for(lambda: server.info("bf")["bf_huge_page_bytes"] == "0", "it is gone")


@case
def pages_are_huge_only_where_that_is_wished(c):
    server = Server(c, arguments=["huge-pages", "no"])
    server.ask("BF.RESERVE", "k", "0.001", 30_000_000)
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "its pages are taken")
    facts = server.info("bf")
    c.expect(facts["bf_huge_page_bytes"] == "0" and int(facts["bf_populated_bytes"]) > 50_000_000, f"{facts}")
    # A wish that is taken back while pages wait for a child's end.
    server.ask("SET", "x", "y")
    server.ask("CONFIG", "SET", "bf.huge-pages", "yes")
    server.ask("CONFIG", "SET", "rdb-key-save-delay", 1_000_000)
    server.ask("BGSAVE")
    server.ask("BF.RESERVE", "l", "0.001", 30_000_000)
    server.ask("CONFIG", "SET", "bf.huge-pages", "no")
    server.wait_for(lambda: server.info("persistence")["rdb_bgsave_in_progress"] == "0", "the child ends")
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "nothing waits")
    c.expect(server.info("bf")["bf_huge_page_bytes"] == "0", "and no page is huge")


@case
def a_filter_may_be_unlinked_while_its_pages_are_taken(c):
    server = Server(c)
    for number in range(20):
        server.ask("BF.RESERVE", "k", "0.001", 300_000_000)
        server.ask("BF.ADD", "k", number)
        server.ask(("UNLINK", "DEL")[number % 2], "k")
    server.wait_for(lambda: server.info("bf")["bf_populating"] == "0", "the thread is done")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "all is released")
    c.expect(server.info("bf")["bf_keys"] == "0", f"all is released once: {server.info('bf')}")


@case
def arguments_and_config_decide_defaults(c):
    server = Server(c, arguments=["ERROR_RATE", "0.001", "INITIAL_SIZE", "500", "bf-expansion-factor", "3",
                                  "CF_MAX_EXPANSIONS", "16", "cf-bucket-size", "4"])
    server.ask("BF.ADD", "k", "x")
    c.expect(server.ask("BF.INFO", "k", "CAPACITY") == [500] and server.ask("BF.INFO", "k", "EXPANSION") == [3], "arguments")
    c.expect(b"ratio:0.0005" in server.ask("BF.DEBUG", "k")[1], "arguments")
    for name, value in (("bf-error-rate", "0.02"), ("bf-initial-size", "77"), ("bf-expansion-factor", "0")):
        c.expect(server.ask("CONFIG", "SET", "bf." + name, value) == "OK", name)
        c.expect(server.ask("CONFIG", "GET", "bf." + name)[1] == value.encode(), name)
    c.expect(server.ask("CONFIG", "GET", "bf.bloom-capacity")[1] == b"500", "a second name has its default, or REWRITE would write it")
    c.expect(server.ask("CONFIG", "SET", "bf.bloom-capacity", 78) == "OK" and
             server.ask("CONFIG", "GET", "bf.bf-initial-size")[1] == b"500", "and the value when it was set last")
    server.ask("CONFIG", "SET", "bf.bf-initial-size", 77)
    server.ask("BF.ADD", "l", "x")
    c.expect(server.ask("BF.INFO", "l", "CAPACITY") == [77] and server.ask("BF.INFO", "l", "EXPANSION") == [None], "CONFIG")
    for name, value, text in (("bf-error-rate", "2", "Value for `bf-error-rate` must be in the range (0.000000, 1.000000)"),
                              ("bf-error-rate", "x", "Invalid value for `bf-error-rate`"),
                              ("bf-initial-size", "0", "between 1 and 1073741824")):
        c.expect(text in server.ask("CONFIG", "SET", "bf." + name, value), f"{name} {value}")


@case
def a_file_of_settings_counts_whichever_name_it_has(c):
    server = Server(c)
    server.stop()
    server.options = ["--save", "", "--loadmodule", MODULE, "--bf.bf-initial-size", "321", "--bf.bloom-fp-rate", "0.003",
                      "--bf.bloom-expansion", "5"]
    server.start()
    server.ask("BF.ADD", "k", "x")
    c.expect(server.ask("BF.INFO", "k", "CAPACITY") == [321] and server.ask("BF.INFO", "k", "EXPANSION") == [5], "names")
    c.expect(b"ratio:0.0015" in server.ask("BF.DEBUG", "k")[1], "names")


def has_bare_names(server):
    """Whether settings of modules may have names without the module's: Redis from 8 on."""
    facts = server.info("server")
    return "valkey_version" not in facts and int(facts["redis_version"].split(".")[0]) >= 8


@case
def a_file_of_another_server_ends_no_start(c):
    """Redis 7 and Valkey write `bf.bf-error-rate`, the reference on Redis 8 `bf-error-rate` and settings of cuckoo filters."""
    server = Server(c)
    bare = [[name, value] for name, value in (("bf-initial-size", "700"), ("cf-bucket-size", "4"), ("cf-initial-size", "2048"),
            ("cf-max-iterations", "30"), ("cf-expansion-factor", "2"), ("cf-max-expansions", "16"))]
    files = [[["bf." + name, value] for name, value in bare]] + ([bare] if has_bare_names(server) else [])
    for lines in files:
        server.stop()
        server.options = ["--save", "", "--loadmodule", MODULE, *(word for name, value in lines for word in ("--" + name, value))]
        server.start()
        for name, value in lines:
            c.expect(server.ask("CONFIG", "GET", name) == [name.encode(), value.encode()], f"{name}: {server.ask('CONFIG', 'GET', name)}")
        c.expect(server.ask("BF.ADD", "k", "x") == 1 and server.ask("BF.INFO", "k", "CAPACITY") == [700], "it counts")
    c.expect("range" in server.ask("CONFIG", "SET", "bf.cf-bucket-size", 256) or
             "between" in server.ask("CONFIG", "SET", "bf.cf-bucket-size", 256), "they are checked")


@case
def a_rewritten_file_has_one_name_of_a_setting(c):
    server = Server(c, config=f"loadmodule {MODULE}\n")
    first = "bf-error-rate" if has_bare_names(server) else "bf.bf-error-rate"
    server.ask("CONFIG", "SET", first, "0.001")
    server.ask("CONFIG", "SET", "bf.memory-usage-limit", "1gb")
    c.expect(server.ask("CONFIG", "REWRITE") == "OK", "rewritten")
    lines = [line.split() for line in c.read("server/conf").decode().splitlines()]
    found = sorted(words[0] for words in lines if words and ("rate" in words[0] or "limit" in words[0]) and "bf" in words[0])
    c.expect(found == sorted([first, "bf.memory-usage-limit"]), f"{found}")
    server.stop()
    c.file("server/conf", c.read("server/conf").replace(b"0.001", b"0.01"))
    server.start()
    server.ask("BF.ADD", "k", "x")
    c.expect(b"ratio:0.005" in server.ask("BF.DEBUG", "k")[1], "the line that was changed counts")


@case
def a_config_set_that_fails_changes_nothing(c):
    server = Server(c)
    rate = "bf-error-rate" if has_bare_names(server) else "bf.bf-error-rate"
    first, second = "bf.memory-usage-limit", "bf.bloom-memory-usage-limit"

    def told(*names):
        return [server.ask("CONFIG", "GET", name)[1] for name in names]

    for limit in (1_000_000, 2_000_000):
        server.ask("CONFIG", "SET", first, limit)
        server.ask("CONFIG", "SET", "bf.bloom-defrag-enabled", "no")
        server.ask("CONFIG", "SET", rate, "0.00123456789012345678")
        before = told(first, second, rate, "bf.bloom-fp-rate", "bf.defrag", "bf.bloom-defrag-enabled")
        for words in ((second, 5, "maxmemory-policy", "bogus"), (second, 0, "maxmemory-policy", "bogus"), (second, -5),
                      (first, 7, second, 5, "maxmemory-policy", "bogus"), (second, 5, first, 7, "maxmemory-policy", "bogus"),
                      ("bf.bloom-fp-rate", "0.5", second, 7, "bf.defrag", "yes", rate, "2"), ("bf.bloom-fp-rate", "7"),
                      ("bf.defrag", "perhaps"), (rate, "0.1", "bf.bloom-fp-rate", "0.2", "maxmemory-policy", "bogus")):
            c.expect(isinstance(server.ask("CONFIG", "SET", *words), Error), f"{words} was done")
            now = told(first, second, rate, "bf.bloom-fp-rate", "bf.defrag", "bf.bloom-defrag-enabled")
            c.expect(now == before and now[0] == b"%d" % limit, f"{words}: {now}")
        c.expect(server.ask("BF.RESERVE", "k", "0.001", 10_000_000) == REFUSED, "the limit counts")
    # A command that is done changes the setting, also if the name had this value before.
    c.expect(server.ask("CONFIG", "SET", second, 0) == "OK" and told(first, second) == [b"0", b"0"], "no limit")
    c.expect(server.ask("BF.RESERVE", "k", "0.001", 10_000_000) == "OK", "no limit any more")
    server.ask("CONFIG", "SET", second, 5)
    server.ask("CONFIG", "SET", second, 0)
    c.expect(told(first, second) == [b"0", b"0"], "to a value and back")


@case
def wrong_arguments_refuse_to_load_with_the_reason(c):
    good = Server(c)
    good.stop()
    for number, (arguments, reason) in enumerate([
            (["bf-error-rate"], "Invalid number of arguments passed"), (["nonsense", "1"], "Unrecognized option: nonsense"),
            (["bf-error-rate", "x"], "Invalid value for `bf-error-rate`"),
            (["INITIAL_SIZE", "0"], "Value for `INITIAL_SIZE` must be in the range [1, 1073741824]")]):
        bad = good
        bad.options = [*good.options[:good.options.index("--loadmodule") + 2], *arguments]
        c.expect(bad.refuses_to_start(), f"{arguments} are taken")
        c.expect(reason in bad.log(), f"{number}: no reason for {arguments}")


@case
def a_default_key_takes_little_more_than_a_string(c):
    server = Server(c)
    taken = {}
    for name, words in (("filter", ["BF.ADD", "k%06d", "x"]), ("string", ["SET", "k%06d", ""])):
        server.ask("FLUSHALL", "SYNC")  # Valkey empties itself in the background
        before = int(server.info("memory")["used_memory"])
        for number in range(4096):
            server.ask(*(word % number if "%" in word else word for word in words))
        taken[name] = (int(server.info("memory")["used_memory"]) - before) / 4096
    c.expect(taken["filter"] - taken["string"] <= KEY_BYTES, f"{taken}")


@case
def info_counts_what_is_there_and_what_was_done(c):
    server = Server(c)
    server.ask("BF.RESERVE", "k", "0.01", 10)
    server.ask("BF.MADD", "k", *range(30))
    server.ask("BF.ADD", "k", 1)
    info = server.info("bf")
    c.expect(info["bf_keys"] == "1" and info["bf_adds"] == "31" and info["bf_scale_outs"] == "1", f"{info}")
    c.expect(int(info["bf_new_items"]) <= 30 and int(info["bf_memory_bytes"]) > 100, f"{info}")


main()
