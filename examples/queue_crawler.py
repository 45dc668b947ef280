#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A crawler whose queue is a server: Redis or Valkey with the module bloomery (docs/server.md).

    examples/queue_crawler.py PORT WEB [START]

Start as many of these as you like, and kill any of them at any moment: each address is queued once, and an address
whose crawler was killed is given to another one. WEB is a file like web.txt: a line for each page, with its address
and its links. It stands for the network. START is the first address; without it the crawler continues.

The queue is a stream, and a Bloom filter beside it knows the addresses that were ever queued. One script adds to both,
so no crash can come between them. An address goes this way:

    push_new.lua --> stream --> XREADGROUP: one crawler has it --> fetched --> XACK and XDEL
                                     |
                                     +--> its crawler died: XAUTOCLAIM gives it to another one

Needs python3-redis.
"""

import os
import sys

import redis

SEEN, TODO, GROUP = "{crawl}:seen", "{crawl}:todo", "crawlers"  # both in one slot of a cluster
QUEUE_MAX = 1_000_000  # addresses that wait at most
IDLE_MS = int(os.environ.get("IDLE_MS", "60000"))  # after this time a crawler counts as dead
WAIT_MS = 200  # for new addresses


def read_web(path):
    """The pages of a file: address -> links."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return {words[0]: words[1:] for words in lines}


def prepare(server):
    """The filter, the group, and the script that pushes what is new."""
    try:
        server.execute_command("BF.RESERVE", SEEN, 0.000001, 1_000_000)
    except redis.ResponseError as error:
        if "exists" not in str(error):
            raise
    try:
        server.xgroup_create(TODO, GROUP, id="0", mkstream=True)
    except redis.ResponseError as error:
        if "BUSYGROUP" not in str(error):
            raise
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "push_new.lua"), encoding="ascii") as file:
        return server.register_script(file.read())


def claim(server, name):
    """What a crawler left that died, as pairs of number and fields; releases of the package differ in the reply."""
    reply = server.xautoclaim(TODO, GROUP, name, IDLE_MS, count=1)
    return reply[1] if reply and isinstance(reply[0], bytes) else reply


def take(server, name):
    """The next address and its number: one of a crawler that died, or a new one. None: nothing is left to do."""
    while server.xlen(TODO) > 0:
        claimed = claim(server, name)
        if not claimed:
            streams = server.xreadgroup(GROUP, name, {TODO: ">"}, count=1, block=WAIT_MS)
            claimed = streams[0][1] if streams else []
        for number, fields in claimed:
            if fields:  # else another crawler has deleted it
                return number, fields[b"url"].decode()
    return None


def main():
    """Crawls until the queue is empty."""
    port, web, start = int(sys.argv[1]), read_web(sys.argv[2]), sys.argv[3:]
    server = redis.Redis(port=port)
    push_new = prepare(server)
    if start:
        push_new(keys=[SEEN, TODO], args=[QUEUE_MAX, *start])
    name = f"crawler-{os.getpid()}"
    while (taken := take(server, name)) is not None:
        number, address = taken
        print(address, flush=True)  # here a crawler would fetch the page and store it
        links = web.get(address, [])
        if links and push_new(keys=[SEEN, TODO], args=[QUEUE_MAX, *links]) == -1:
            sys.exit("the queue is full; nothing was lost: the address stays with this crawler's name")
        # The links are queued: only now the address is done. A crash before this line repeats it.
        with server.pipeline(transaction=True) as both:
            both.xack(TODO, GROUP, number)
            both.xdel(TODO, number)
            both.execute()


if __name__ == "__main__":
    main()
