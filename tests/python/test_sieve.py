# SPDX-License-Identifier: Apache-2.0
"""The sieve from Python: each key comes out once, whatever happened between."""

import os
import signal
import subprocess
import sys
import threading
import time

import bloomery
from bloomery import NEW, PENDING, SEEN, Sieve
from optional import raises
from runner import case, main


@case
def each_key_comes_out_once(c):
    for directory in (None, c.path("crawl")):
        with Sieve(directory) as s:
            results = [s.push(key, b"payload " + key) for key in (b"a", b"b", b"a", b"c")]
            c.expect(results in ([NEW, NEW, SEEN, NEW], [PENDING, PENDING, SEEN, PENDING]), f"{results}")
            c.expect(set(s.push_many(f"{i}" for i in range(3000))) <= {NEW, PENDING}, "many")
            c.expect(s.mark_seen("marked") in (NEW, PENDING) and len(s.mark_seen_many(["m1", "m2"])) == 2, "marks")
            items = []
            while batch := s.pop(1000):
                items += batch
                c.expect(s.ack(batch) == len(batch), "ack")
            keys = [item.key for item in items]
            c.expect(sorted(keys) == sorted([b"a", b"b", b"c"] + [b"%d" % i for i in range(3000)]), "keys")
            c.expect(next(item for item in items if item.key == b"b").payload == b"payload b", "payload")
            c.expect(s.look("marked") == SEEN and s.look("never") == NEW, "look")
            c.expect(s.push("a", force=True) in (NEW, PENDING) and s.pop()[0].key == b"a", "force")
            status = s.status()
            c.expect(status.pushed == 3008 and status.leased == 1 and status.forced == 1, f"{status}")


@case
def leases_come_again_and_are_acknowledged_by_item_or_number(c):
    s = Sieve()
    s.push_many(["a", "b", "c"])
    first, second, third = s.pop(3)
    c.expect(s.pop() == [] and s.give_back(first) == 1, "give back")
    again = s.pop()[0]
    c.expect(again.key == first.key and again.again and not first.again, f"{again}")
    c.expect(s.ack(again.number) == 1 and s.ack([second, third.number]) == 2 and s.ack(second) == 0, "ack")
    for bad in ("x", None, 1.5, [None], -1, 2**64):
        with raises(c, (TypeError, AttributeError, ValueError)):
            s.ack(bad)


@case
def deliveries_are_counted_limited_and_renewed(c):
    with Sieve(c.path("crawl"), max_deliveries=2, lease=1e-6) as s:
        s.push_many(["a", "b"])
        c.expect([item.deliveries for item in s.pop(2)] == [1, 1], "first")
        c.expect(s.extend([1, 7], 1000) == 1, "extend")
        time.sleep(0.01)  # not shorter: so the leases have ended
        second = s.pop(2)
        c.expect([(item.number, item.deliveries) for item in second] == [(2, 2)], f"{second}")
        time.sleep(0.01)  # not shorter: so the leases have ended
        c.expect(s.pop(2) == [] and s.status().dead == 1 and s.status().leased == 1, f"{s.status()}")
        with raises(c, (TypeError, ValueError)):
            s.extend()
        with raises(c, ValueError):
            s.extend(1, -1)


@case
def the_order_and_the_time_of_commits_are_chosen(c):
    for ordered in (None, True, False):
        with Sieve(c.path(f"order {ordered}"), ordered=ordered) as s:
            s.push_many([f"{i}" for i in range(1000)])
            keys = []
            while batch := s.pop(1000):
                keys += [int(item.key) for item in batch]
                s.ack(batch)
            c.expect(sorted(keys) == list(range(1000)), "keys")
            c.expect((keys == sorted(keys)) == s.status().ordered, f"{ordered}: {keys[:9]}")
            c.expect(ordered is None or s.status().ordered == ordered, f"{ordered}")
            c.expect(s.status().done == 1000, f"{s.status()}")
    for sync, durable in (("always", 1), (1000, 0), (1000.5, 0), ("never", 0)):
        with Sieve(c.path(f"sync {sync}"), sync=sync) as s:
            s.push("a")
            c.expect(s.status().durable == durable, f"{sync}: {s.status().durable}")
            s.commit()
            c.expect(s.status().durable == 1, f"{sync}: a commit")
    for wrong in (None, [], b"always"):
        with raises(c, TypeError):
            Sieve(sync=wrong)


@case
def a_killed_process_loses_nothing_that_was_committed(c):
    code = ("import bloomery, os, signal; s = bloomery.Sieve('crawl'); s.push_many(map(str, range(500))); "
            "s.pop(10); s.commit(); s.push('lost perhaps'); os.kill(os.getpid(), signal.SIGKILL)")
    done = subprocess.run([sys.executable, "-c", code], cwd=c.directory, check=False)
    c.expect(done.returncode == -signal.SIGKILL, f"{done.returncode}")
    with Sieve(c.path("crawl"), existing=True) as s:
        keys = set()
        while batch := s.pop(100):
            keys |= {item.key for item in batch}
            s.ack(batch)
        c.expect(keys >= {b"%d" % i for i in range(500)}, f"{len(keys)} keys")
        with raises(c, bloomery.Busy):
            other_process_or_raise(c)


def other_process_or_raise(c):
    """Another process opens the directory: its exception is raised here."""
    code = "import bloomery\ntry:\n    bloomery.Sieve('crawl')\nexcept bloomery.Busy:\n    raise SystemExit(7)"
    done = subprocess.run([sys.executable, "-c", code], cwd=c.directory, check=False)
    if done.returncode == 7:
        raise bloomery.Busy("the other process was refused")


@case
def threads_push_and_pop_and_each_key_comes_once(c):
    s = Sieve()
    found, failures = [], []

    def work(number):
        try:
            for i in range(500):
                s.push(f"{(i * (number + 3)) % 700}")
                found.extend(item.key for item in s.pop(2))
        except BaseException as why:  # pylint: disable=broad-exception-caught
            failures.append(why)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found += [item.key for item in s.pop(4000)]
    c.expect(not failures and len(found) == len(set(found)) and len(found) >= 600, f"{failures} {len(found)}")


@case
def closed_ones_forked_ones_and_wrong_arguments_raise(c):
    s = Sieve(c.path("crawl"))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            s.push("x")
        except RuntimeError as why:
            code = 0 if "fork" in str(why) else 2
        finally:
            del s
            os._exit(code)
    c.expect(os.waitpid(child, 0)[1] == 0, "the child used its parent's sieve")
    c.expect(s.push("x") in (NEW, PENDING), "the parent's is spoilt")
    s.close()
    s.close()
    for call in (lambda: s.push("x"), s.pop, s.status, s.commit, s.__enter__):
        with raises(c, ValueError, "closed"):
            call()
    for arguments in ({"engine": "x"}, {"full": "x"}, {"keys": -1}, {"canon": "nonsense"}, {"memory": 5, "engine": "disk"}):
        with raises(c, (ValueError, bloomery.Error)):
            Sieve(**arguments)
    with raises(c, bloomery.NotAFilter):
        Sieve(c.path("nothing"), existing=True)
    s = Sieve(c.path("crawl"), read_only=True)
    with raises(c, bloomery.ReadOnly):
        s.push("y")
    t = Sieve()
    for key in (1.5, None, ("a",)):
        with raises(c, TypeError):
            t.push(key)
    with raises(c, TypeError):
        t.push("a", 5)
    with raises(c, TypeError, "one key"):
        t.push_many("abc")
    with raises(c, ValueError):
        t.push(b"x" * (2 << 20))
    with raises(c, ValueError):
        t.pop(0)


main()
