# SPDX-License-Identifier: Apache-2.0
"""Runs cases of the command: exact stdout, exact stderr, exact exit code.

A file of cases imports this, decorates functions and ends with main():

    from runner import case, has, main

    @case
    def last_line_without_newline_is_a_key(c):
        c.file("keys", "a\\nb")
        c.run("build -q -o f.bloom keys")
        c.run("query f.bloom", stdin="b", stdout="b\\n")

    main()

Each case has a directory of its own, in which the command runs. `c.run` takes what is expected:
`stdout` (default nothing), `stderr` (default nothing) and `code` (default 0). Texts must be equal byte
for byte; has("one", "two") asks only that both are in it. What differs ends the case as failed.

The command is the one named by the environment variable BLOOMERY_TOOL. Arguments of the program choose
cases by a part of their name. `python3 runner.py` tests the runner: that each sort of difference is seen.
"""

import array
import fcntl
import functools
import os
import pty
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import traceback

TOOL = os.path.abspath(os.environ.get("BLOOMERY_TOOL", "build/tool/bloomery"))
# What runs programs made for another processor (scripts/cross).
EMULATOR = shlex.split(os.environ.get("BLOOMERY_EMULATOR", ""))
SECONDS = 120  # no command of a case takes longer, unless it hangs

CASES = []


class Difference(Exception):
    """What was expected and what came."""


class Skip(Exception):
    """This machine lacks what the case needs."""


class has:  # pylint: disable=invalid-name,too-few-public-methods
    """Expects a text with these parts in it."""

    def __init__(self, *parts):
        self.parts = [as_bytes(part) for part in parts]

    def missing_from(self, text):
        """The first part that is not there, or None."""
        return next((part for part in self.parts if part not in text), None)


def as_bytes(text):
    """Texts in cases may be str (taken as UTF-8) or bytes."""
    return text.encode() if isinstance(text, str) else text


def shorten(text):
    """A text for a message: its beginning, visibly cut."""
    return repr(text) if len(text) <= 400 else f"{text[:200]!r}...{text[-100:]!r} ({len(text)} bytes)"


def expect_text(what, expected, text):
    """Compares stdout or stderr."""
    if isinstance(expected, has):
        part = expected.missing_from(text)
        if part is not None:
            raise Difference(f"{what} lacks {shorten(part)}: {shorten(text)}")
    elif as_bytes(expected) != text:
        raise Difference(f"{what} is {shorten(text)}, not {shorten(as_bytes(expected))}")


def is_read(pipe):
    """Whether nothing is left in a pipe."""
    waiting = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, waiting)
    return waiting[0] == 0


def rest_of(process):
    """Which threads a process has and how often each has gone to sleep; None where one of them runs."""
    threads = []
    try:
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            with open(f"/proc/{process.pid}/task/{thread}/status", encoding="utf-8") as file:
                facts = dict(line.split(":", 1) for line in file)
            if facts["State"].split()[0] != "S":
                return None
            threads.append((thread, facts["voluntary_ctxt_switches"]))
    except (FileNotFoundError, ProcessLookupError):
        return None  # it has just ended
    return threads


def files_of(process, folder):
    """The open files of a process that lie, or lay, in a folder."""
    found = []
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        try:
            path = os.readlink(f"/proc/{process.pid}/fd/{name}")
        except OSError:
            continue
        if path.startswith(folder):
            found.append(path)
    return found


class Context:
    """What a case works with: a directory and the command."""

    def __init__(self, directory):
        self.directory = directory
        self.processes = []  # started here; what is left of them is killed after the case

    def path(self, name):
        """The full path of a file of the case."""
        return os.path.join(self.directory, name)

    def file(self, name, content):
        """Makes a file; returns its content as bytes."""
        with open(self.path(name), "wb") as file:
            file.write(as_bytes(content))
        return as_bytes(content)

    def read(self, name):
        """The content of a file of the case."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def names(self):
        """All names in the directory, sorted: to see what litter a command left."""
        return sorted(os.listdir(self.directory))

    def expect(self, condition, message):
        """Fails the case unless the condition holds."""
        if not condition:
            raise Difference(message)

    @staticmethod
    def arguments(line, program=None):
        """The command line as a list: words as the shell would split them, or a list of arguments."""
        return [*EMULATOR, program or TOOL] + (shlex.split(line) if isinstance(line, str) else list(line))

    def start(self, line, **options):
        """Starts the command and returns the process, for cases that do something while it runs."""
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return self.spawn(self.arguments(line), **options)

    def spawn(self, arguments, **options):
        """Starts any program, to be killed at the end of the case if it still runs then."""
        process = subprocess.Popen(arguments, cwd=self.directory, **options)
        self.processes.append(process)
        return process

    def wait_until(self, condition, what, process=None):
        """Waits for an event: looks until the condition holds. The process, if any, must not end before."""
        end = time.monotonic() + SECONDS
        while not condition():
            self.expect(time.monotonic() < end, f"never: {what}")
            self.expect(process is None or process.poll() is None, f"it ended before: {what}")
            time.sleep(0.002)  # between two looks

    def wait_for_file(self, name, process=None):
        """Returns when there is a file of this name."""
        self.wait_until(lambda: os.path.exists(self.path(name)), f"{name} is there", process)

    def is_locked(self, name):
        """Whether a command holds the lock of a file."""
        try:
            with open(self.path(name), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True

    def wait_for_lock(self, name):
        """Returns when a command holds the lock of a file."""
        self.wait_until(lambda: self.is_locked(name), f"{name} is locked")

    def wait_until_read(self, process):
        """Returns when a process has read what was written to it."""
        self.wait_until(lambda: is_read(process.stdin), "its input is read", process)

    def wait_until_it_waits(self, process, sort="it waits"):
        """Returns when every thread of a process sleeps, for input, for a lock, for a reader. It must not end."""
        before = [None]

        def unchanged():
            last, before[0] = before[0], rest_of(process)
            return last is not None and last == before[0]
        self.wait_until(unchanged, sort, process)

    def end(self):
        """Kills what the case left running, and closes the pipes to it."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass

    def run(self, line, stdin="", stdout="", stderr="", code=0, environment=None, program=None, **options):
        """Runs the command, or another program, and compares what came. Returns its (stdout, stderr).

        stdout=None and stderr=None: anything; code=None too. Other options go to subprocess.run."""
        if environment is not None:
            options["env"] = {**os.environ, **environment}
        if "stdout_file" in options:
            options["stdout"] = options.pop("stdout_file")
        else:
            options["stdout"] = subprocess.PIPE
        try:
            done = subprocess.run(self.arguments(line, program), cwd=self.directory, input=as_bytes(stdin),
                                  stderr=subprocess.PIPE, timeout=SECONDS, check=False, **options)
        except subprocess.TimeoutExpired as late:
            raise Difference(f"'{line}' did not end within {SECONDS} s") from late
        try:
            if code is not None and done.returncode != code:
                raise Difference(f"exit code {done.returncode}, not {code}; stderr "
                                 f"{shorten(done.stderr)}")
            if stdout is not None and done.stdout is not None:
                expect_text("stdout", stdout, done.stdout)
            if stderr is not None:
                expect_text("stderr", stderr, done.stderr)
        except Difference as difference:
            raise Difference(f"'{line}': {difference}") from None
        return done.stdout, done.stderr


def case(function):
    """Decorator: this function is a case, and its name is the property it shows."""
    CASES.append((function.__name__, function))
    return function


def checks(*functions, arguments=lambda c: (c.directory,), skipped=None):
    """Makes cases of functions that raise AssertionError, and return why they were skipped, or None.

    They get what `arguments` makes of the case. With `skipped`, the reason, all of them are."""
    for function in functions:
        def run(c, function=function):
            reason = skipped or function(*arguments(c))
            if reason:
                raise Skip(reason)
        CASES.append((function.__name__, run))


def expect(condition, message):
    """For such functions."""
    if not condition:
        raise AssertionError(message)


def nul_note(command, name, content=b"\0"):
    """What a command says about an input whose first bytes have a NUL; "" for others."""
    said = (f"bloomery: {command}: note: {name}: its lines contain NUL bytes, as binary files do. If NUL ends the lines, "
            "give --null. --text reads the bytes without this note\n")
    return said if b"\0" in content else ""


def keyed(function):
    """Decorator, below @case: the case makes keyed filters, which a build without libsodium can't."""
    @functools.wraps(function)
    def run_or_skip(context):
        if "BLOOMERY_TEST_NO_SODIUM" in os.environ:
            raise Skip("this build has no keyed filters")
        function(context)
    return run_or_skip


def own_size():
    """Skips the case where a process is larger than a user's: it looks at memory, or limits it."""
    with open(TOOL, "rb") as file:
        image = file.read()
    if EMULATOR or b"__asan_init" in image or b"__tsan_init" in image:
        raise Skip("in an emulator or with sanitizers a process has another size")


def open_terminal(make=None):
    """The two ends of a new one, the leader's and the one that a command gets; or what `make` makes with one."""
    try:
        return (make or pty.openpty)()
    except OSError as why:
        raise Skip(f"no terminals here: {why}") from why


def everything_from(leader):
    """What has been written to a terminal; its writers have ended, and nobody has it open but us."""
    shown = b""
    try:
        while select.select([leader], [], [], 10)[0]:
            shown += os.read(leader, 65536)
    except OSError:
        pass  # the end
    return shown


def run_case(function):
    """Runs one case in a fresh directory. None, or what went wrong."""
    directory = tempfile.mkdtemp(prefix="bloomery-cli-")
    context = Context(directory)
    try:
        function(context)
        return None
    except Difference as difference:
        return str(difference)
    except Skip:
        raise
    except Exception as wrong:  # pylint: disable=broad-exception-caught
        place = traceback.extract_tb(wrong.__traceback__)[-1]
        return f"{type(wrong).__name__}: {wrong} ({os.path.basename(place.filename)}:{place.lineno})"
    finally:
        context.end()
        shutil.rmtree(directory, ignore_errors=True)


def run_cases(cases, report=print):
    """Runs all; prints a line for each failed or skipped one and returns (passed, failed, skipped)."""
    passed = failed = skipped = 0
    for name, function in cases:
        try:
            wrong = run_case(function)
        except Skip as why:
            report(f"skipped {name}: {why}")
            skipped += 1
            continue
        if wrong is None:
            passed += 1
        else:
            failed += 1
            report(f"FAILED {name}: {wrong}")
    return passed, failed, skipped


def main(command=True):
    """Runs the cases that the arguments choose and ends the program. Without `command` they do not run it."""
    if command and not os.access(TOOL, os.X_OK):
        sys.exit(f"{TOOL}: no such command; set BLOOMERY_TOOL to its path")
    # Under nohup it is ignored, and commands that are started would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    chosen = [item for item in CASES
              if len(sys.argv) < 2 or any(part in item[0] for part in sys.argv[1:])]
    passed, failed, skipped = run_cases(chosen)
    tail = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{tail}")
    sys.exit(1 if failed or not chosen else 0)


# ---- The runner's own test ---------------------------------------------------------------------------

def self_test():
    """Shows that every sort of difference fails a case, with a command that is a small script."""
    global TOOL, EMULATOR  # pylint: disable=global-statement
    script = tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False)
    script.write("#!/bin/sh\ncat\nprintf out\nprintf err >&2\nexit 3\n")
    script.close()
    os.chmod(script.name, 0o755)
    TOOL = script.name
    EMULATOR = []  # a script runs by itself
    wrong_case = lambda c: c.nothing_like_this()  # pylint: disable=unnecessary-lambda-assignment

    def must_differ(c):
        c.expect(False, "is seen")

    good = {"stdin": "in-", "stdout": "in-out", "stderr": "err", "code": 3}
    table = [
        ("equal_texts_pass", lambda c: c.run("x", **good), True),
        ("parts_pass", lambda c: c.run("x", **{**good, "stdout": has("in", "out")}), True),
        ("other_stdout_fails", lambda c: c.run("x", **{**good, "stdout": "in-out\n"}), False),
        ("stdout_cut_short_fails", lambda c: c.run("x", **{**good, "stdout": "in-"}), False),
        ("unexpected_stderr_fails", lambda c: c.run("x", **{**good, "stderr": ""}), False),
        ("missing_part_fails", lambda c: c.run("x", **{**good, "stderr": has("er", "no")}), False),
        ("other_exit_code_fails", lambda c: c.run("x", **{**good, "code": 0}), False),
        ("other_stdin_fails", lambda c: c.run("x", **{**good, "stdin": ""}), False),
        ("failed_expectation_fails", must_differ, False),
        ("exception_fails", wrong_case, False),
    ]
    results = [(name, run_case(function) is None, expected) for name, function, expected in table]

    def refuse():
        raise OSError("out of pty devices")

    skipped = run_cases([("x", lambda c: open_terminal(refuse))], report=lambda line: None)
    results.append(("a_machine_without_terminals_skips", skipped == (0, 0, 1), True))
    failed = [name for name, got, expected in results if got != expected]
    for name in failed:
        print(f"FAILED {name}")
    os.unlink(script.name)
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    self_test()
