# SPDX-License-Identifier: Apache-2.0
"""What a review found: forks, subclasses, finalisers and signals in the midst, and errors that must be seen."""

import array
import copy
import gc
import os
import pickle
import signal
import threading
import time

import bloomery
from bloomery import Builder, Filter, Sieve
from optional import need, raises
from runner import case, main


def refused(c, kinds, call, *parts):
    """What a call raises: one of these, with these parts in its text."""
    with raises(c, kinds, *parts) as caught:
        call()
    return caught.error


def in_child(job):
    """Runs a function in a fork that has 20 seconds; its number, or what ended it."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)
        code = 99
        try:
            code = job()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# ---- Forks -------------------------------------------------------------------------------------------

@case
def a_builder_belongs_to_the_process_that_made_it(c):
    builder = Builder(1e-4, directory=c.path("."))
    builder.add_many(range(1000))

    def use():
        for call in (lambda: builder.add("x"), lambda: builder.add_many(["x"]), builder.finish):
            try:
                call()
                return 1
            except RuntimeError as why:
                if "fork" not in str(why):
                    return 2
        return 0
    c.expect(in_child(use) == 0, "a child used its parent's builder")
    c.expect(builder.finish().count_many(range(1000)) == 1000, "the parent's filter lost keys")


@case
def readers_that_are_not_in_a_child_do_not_stop_it(c):
    np = need("numpy")
    f = Filter(10_000_000, 1e-3)
    keys = np.arange(20_000_000)
    thread = threading.Thread(target=lambda: f.contains_many(keys))
    thread.start()
    time.sleep(0.03)  # any moment of the call will do

    def use():
        return 0 if f.count_many(keys[:1000]) == 0 and f.add("x") and "x" in f and f.count_many(keys[:9]) == 0 else 1
    c.expect(in_child(use) == 0, "the child waits for a thread that it has not")
    thread.join()


# ---- Subclasses --------------------------------------------------------------------------------------

class Tagged(Filter):
    """A filter with an attribute of its own, and a method that an operator must not rely on."""

    def copy(self):
        return "no filter at all"


@case
def operators_of_subclasses_make_filters(c):
    one, other = Tagged(1000), Tagged(1000)
    one.add("a")
    other.add("b")
    both = one | other
    c.expect(isinstance(both, Tagged) and "a" in both and "b" in both, f"{both}")
    c.expect("a" not in one & other, "an intersection has what one of them lacks")


@case
def copies_keep_what_a_subclass_adds(c):
    f = Tagged(1000)
    f.tag = ["hello"]
    for made in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f)), f | f):
        c.expect(made.tag == ["hello"], f"{made!r}")
    c.expect(copy.copy(f).tag is f.tag and copy.deepcopy(f).tag is not f.tag, "deep and shallow")


# ---- Finalisers and signals --------------------------------------------------------------------------

class Cycle:
    """Garbage that does something when it is collected."""

    def __init__(self, job):
        self.me, self.job = self, job

    def __del__(self):
        self.job()


@case
def finalisers_may_use_what_is_being_used(c):
    s = Sieve(keys=10000)
    s.push_many([f"key {i}" for i in range(3000)])
    f = Filter(1000, note="a note that is long enough to be allocated")
    threshold = gc.get_threshold()
    try:
        gc.set_threshold(20)
        popped = []
        for _ in range(20):
            Cycle(lambda: popped.extend(s.pop(1)))
            popped += s.pop(100)
        c.expect(len({item.number for item in popped}) == len(popped) > 2000, f"{len(popped)}")
        gc.set_threshold(1)
        for _ in range(50):
            Cycle(f.close)
            try:
                c.expect(f.note == "a note that is long enough to be allocated", f"{f.note!r}")
            except ValueError:
                f = Filter(1000, note="a note that is long enough to be allocated")
    finally:
        gc.set_threshold(*threshold)


@case
def a_handler_may_use_a_filter_of_a_merge_that_waits(c):
    np = need("numpy")
    filters = sorted((Filter(8_000_000, 1e-4, kind="classic", seed=1) for _ in range(2)), key=id)
    for lo, hi in (filters, filters[::-1]):
        ran = []
        before = signal.signal(signal.SIGALRM, lambda number, frame, lo=lo, ran=ran: ran.append(lo.add("x")))
        thread = threading.Thread(target=lambda hi=hi: hi.contains_many(np.arange(12_000_000)))
        thread.start()
        time.sleep(0.03)  # any moment of the call will do
        signal.setitimer(signal.ITIMER_REAL, 0.03)
        try:
            hi.merge(lo)
        finally:
            thread.join()
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        c.expect(all(done in (True, False) for done in ran), f"{ran}")


# ---- Errors ------------------------------------------------------------------------------------------

@case
def errors_of_files_are_of_the_class_that_python_has_for_them(c):
    refused(c, FileNotFoundError, lambda: Filter.open(os.fsencode(c.path("")) + b"\xff.bloom"))
    refused(c, FileNotFoundError, lambda: Filter.open(c.path("x/" * 100 + "y" * 60)))
    refused(c, IsADirectoryError, lambda: Filter.open(c.path(".")))
    refused(c, IsADirectoryError, lambda: Filter(10).save(c.path(".")))


@case
def keys_before_a_bad_one_are_in_and_no_error_is_lost(c):
    c.run("build -q --hex -n 1000 -o hex.bloom", stdin="")
    f = Filter.open(c.path("hex.bloom"), copy=True)
    refused(c, ValueError, lambda: f.add_many(["aa", "bb", "zz", "cc"]), "key 2")
    c.expect("aa" in f and "bb" in f and "cc" not in f, "keys before the bad one are missing")

    def broken():
        yield "dd"
        yield "zz"
        raise KeyError("the iterator's")
    why = refused(c, ValueError, lambda: f.add_many(broken()), "key 1")
    c.expect("dd" in f and isinstance(why.__context__, KeyError), f"{why!r} {why.__context__!r}")

    def exits():
        raise SystemExit(3)
    number = type("Number", (), {"__index__": lambda self: exits()})()
    try:
        Filter(10).add_many([number])
        c.expect(False, "nothing was raised")
    except SystemExit as end:
        c.expect(end.code == 3 and end.args == (3,), f"{end.args}")


@case
def numbers_out_of_range_are_refused(c):
    refused(c, ValueError, lambda: bloomery.plan(rate=0.01, bytes=100000, kind="nonsense"), "unknown kind")
    refused(c, ValueError, lambda: Filter.create_dialect("guava", keys=2**64 + 1000, rate=0.01), "keys")
    refused(c, ValueError, lambda: Filter.create_dialect("guava", bits=1000, probes=2**32, rate=0.01), "probes")
    for call in (lambda: Filter.build(["a"], threads=-1), lambda: Builder(0.01, threads=-1),
                 lambda: Sieve(keys=100, leases=-1), lambda: Sieve(sync="sometimes"), lambda: Sieve(sync=-1)):
        refused(c, ValueError, call)
    for threads in (257, 2**32 - 1):
        for call in (lambda: Filter.build(["a"], threads=threads), lambda: Builder(0.01, threads=threads),
                     lambda: Filter.build(array.array("q", range(5000)), threads=threads)):
            refused(c, ValueError, call, "256")
    c.expect(Filter.build(array.array("q", range(5000)), threads=256).count_many(range(5000)) == 5000, "256 threads")


@case
def masked_arrays_are_refused_with_the_remedy(c):
    np = need("numpy")
    masked = np.ma.masked_array(np.arange(5), mask=[0, 1, 0, 1, 0])
    f = Filter(100)
    refused(c, TypeError, lambda: f.add_many(masked), "compressed")
    f.add_many(masked.compressed())
    c.expect(f.count_many([0, 2, 4]) == 3 and 1 not in f, "the wrong ones were added")


if __name__ == "__main__":
    main()
