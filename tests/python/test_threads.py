# SPDX-License-Identifier: Apache-2.0
"""Threads, forks and processes: nothing is lost, nothing ends the interpreter, and others go on at the same time."""

import multiprocessing
import os
import signal
import threading
import time

from bloomery import Filter
from optional import need
from runner import case, main


def in_threads(jobs):
    """Runs functions at the same time; the first exception, or None."""
    failures = []

    def guarded(job):
        try:
            job()
        except BaseException as why:  # pylint: disable=broad-exception-caught
            failures.append(why)
    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures[0] if failures else None


@case
def adding_and_asking_from_many_threads_loses_nothing(c):
    np = need("numpy")
    for concurrent in (False, True):
        f = Filter(400_000, 1e-6, concurrent=concurrent)
        parts = [np.arange(i * 50_000, (i + 1) * 50_000) for i in range(8)]
        new = []

        def adder(part):
            new.append(f.add_many(part[:40_000]))
            for key in part[40_000:41_000]:
                f.add(int(key))
            new.append(1000 + f.add_many([int(key) for key in part[41_000:]]))

        def reader():
            for _ in range(20):
                f.count_many(parts[0])
                5 in f  # pylint: disable=pointless-statement
        def whole():
            for _ in range(10):
                assert len(f.to_bytes()) > 0 and repr(f) and f.info(scan=True).adds >= 0
                assert f.copy().adds <= 400_000
        failure = in_threads([lambda part=part: adder(part) for part in parts] + [reader] * 2 + [whole] * 2)
        c.expect(failure is None, f"{failure!r}")
        c.expect(all(f.count_many(part) == len(part) for part in parts), f"a key is lost, concurrent={concurrent}")
        c.expect(f.adds == 400_000 and sum(new) >= 399_990, f"{f.adds} adds, {sum(new)} new")


@case
def readers_do_not_wait_for_each_other_nor_the_interpreter_for_them(c):
    np = need("numpy")
    f = Filter(4_000_000, 0.001, kind="classic")
    keys = np.arange(3_000_000)
    turns, going, begun = [0], [True], threading.Event()

    def counter():
        while going[0]:
            turns[0] += 1
            begun.set()
            time.sleep(0)  # another's turn
    thread = threading.Thread(target=counter)
    thread.start()
    begun.wait()
    before = turns[0]
    f.add_many(keys)  # some 100 ms in one call
    during = turns[0] - before
    going[0] = False
    thread.join()
    c.expect(during > 20, f"the other thread had {during} turns: the lock of the interpreter was held")


@case
def merging_crosswise_does_not_hang(c):
    a, b = Filter(200_000), Filter(200_000)
    a.add_many(range(1000))
    b.add_many(range(1000, 2000))

    def back_and_forth(one, other):
        for _ in range(200):
            one.merge(other)
            one <= other  # pylint: disable=pointless-statement
            one |= one
    failure = in_threads([lambda: back_and_forth(a, b), lambda: back_and_forth(b, a), lambda: back_and_forth(a, b)])
    c.expect(failure is None and a.count_many(range(2000)) == 2000, f"{failure!r}")


@case
def closing_beside_others_raises_and_does_not_crash(c):
    np = need("numpy")
    keys = np.arange(100_000)
    for _ in range(5):
        f = Filter(100_000)
        rounds = threading.Semaphore(0)

        def use():
            try:
                while True:
                    f.add_many(keys)
                    f.count_many(keys)
                    f.add(5)
                    5 in f  # pylint: disable=pointless-statement
                    f.info()
                    rounds.release()
            except ValueError as why:
                assert "closed" in str(why)

        def close():
            for _ in range(6):  # all of them are at it
                rounds.acquire(timeout=60)
            f.close()
        failure = in_threads([use, use, use, close])
        c.expect(failure is None, f"{failure!r}")


def count_in_child(path):
    """For a pool: opens the file by its path."""
    return Filter.open(path).count_many(range(1000))


def count_of_pickle(f):
    """For a pool: gets a pickle."""
    return f.count_many(range(1000)), f.add("new in the child")


@case
def processes_share_a_file_or_get_a_pickle(c):
    f = Filter(1000)
    f.add_many(range(1000))
    f.save(c.path("f.bloom"))
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            c.expect(pool.map(count_in_child, [c.path("f.bloom")] * 4) == [1000] * 4, f"{method}: by path")
            c.expect(pool.map(count_of_pickle, [f] * 2) == [(1000, True)] * 2, f"{method}: by pickle")
    c.expect("new in the child" not in f, "a child changed its parent's filter")


def add_in_child(f):
    """Forks, and adds there; the child's exit code."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            f.add("x")
            code = 1
        except RuntimeError as why:
            code = 0 if "forked" in str(why) else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@case
def a_child_forked_in_the_midst_raises_instead_of_waiting_without_end(c):
    np = need("numpy")
    f = Filter(8_000_000, 1e-4, kind="classic")
    keys = np.arange(6_000_000)
    codes = set()
    for _ in range(20):
        thread = threading.Thread(target=lambda: f.add_many(keys))
        thread.start()
        while 0 not in codes and thread.is_alive():
            codes.add(add_in_child(f))  # 1: the thread is not inside yet, or no longer
        thread.join()
        if 0 in codes:
            break
    c.expect(0 in codes, "no child was forked in the midst")
    c.expect(codes <= {0, 1}, f"children ended with {codes}")
    c.expect(f.count_many(keys[:1000]) == 1000, "the parent lost keys")


@case
def a_list_of_many_keys_lets_others_run_and_is_interrupted(c):
    keys = [f"key {i}" for i in range(1_500_000)]
    f, ticks, done = Filter(3_000_000, 1e-6), [], [False]

    def tick():
        while not done[0]:
            ticks.append(time.monotonic())
            time.sleep(0.0005)
    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.monotonic()
    f.add_many(keys)
    spent = time.monotonic() - begin
    done[0] = True
    thread.join()
    within = sum(begin < tick < begin + spent for tick in ticks)
    c.expect(within >= 8, f"others ran {within} times in {spent:.2f} s")

    def interrupt(number, frame):
        raise InterruptedError("enough")
    before = signal.signal(signal.SIGALRM, interrupt)
    g = Filter(30_000_000, 1e-6)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        for _ in range(20):
            g.add_many(keys)
        c.expect(False, "nothing was raised")
    except InterruptedError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    added = g.adds
    c.expect(0 < added < 1_500_000 and g.count_many(keys[:added]) == added, f"{added} keys came before it")


@case
def a_signal_interrupts_waiting(c):
    np = need("numpy")
    f = Filter(8_000_000, 1e-4, kind="classic")
    keys, going, begun = np.arange(3_000_000), [True], threading.Event()

    def adder():  # nearly always inside, so that others nearly always wait
        while going[0]:
            f.add_many(keys)
            begun.set()

    def interrupt(number, frame):
        raise InterruptedError("the handler")
    thread = threading.Thread(target=adder)
    before = signal.signal(signal.SIGALRM, interrupt)
    thread.start()
    begun.wait()
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        for i in range(10**9):
            f.add(i)
        c.expect(False, "the handler was not run")
    except InterruptedError:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        going[0] = False
    thread.join()


if __name__ == "__main__":
    main()
