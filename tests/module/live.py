# SPDX-License-Identifier: Apache-2.0
"""Servers of a case's own, and the protocol they talk, without a client library.

    server = Server(c)                          starts one with the module and waits for its PING
    server.ask("BF.ADD", "k", "x")              the reply as Python values; errors are Error
    server.raw("BF.ADD", "k", "x")              its bytes
    server.stop(); server.start()               the same folder again

The server is Debian's redis-check-rdb (package redis-tools), which is a server when it is called
redis-server: BLOOMERY_SERVER names such a link. BLOOMERY_MODULE names the module. A server listens on
127.0.0.1 at a free port, keeps its files in the folder of the case, and ends with it: the runner kills
what is left, and the kernel does if the test itself is killed.
"""

import ctypes
import functools
import gzip
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cli"))

# pylint: disable=wrong-import-position
from runner import Difference, Skip

SERVER = os.environ.get("BLOOMERY_SERVER", "build/tests/module/redis-server")
MODULE = os.path.abspath(os.environ.get("BLOOMERY_MODULE", "build/module/bloomery.so"))
# The runtime of a sanitizer, which an instrumented module needs in its server; the server's own leaks are its own.
PRELOAD = os.environ.get("BLOOMERY_PRELOAD", "")
SANITIZER = {"LD_PRELOAD": PRELOAD, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
             "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1"} if PRELOAD else {}
# The program behind which servers run: system calls that Debian's service forbids end them.
FILTER = os.environ.get("BLOOMERY_SERVICE_FILTER", "")
VECTORS = os.path.join(os.path.dirname(HERE), "vectors")
SECONDS = 30
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
START = 1_800_000_000_000  # ms: when the clocks of tests begin


class Error(str):
    """An error reply."""


def vector(*names):
    """A vector's content."""
    with gzip.open(os.path.join(VECTORS, *names)) as file:
        return json.load(file)


def as_words(words):
    """Words as bytes."""
    return [word if isinstance(word, bytes) else str(word).encode() for word in words]


class Client:
    """One connection."""

    def __init__(self, port, resp=2):
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.kept = b""
        if resp == 3:
            self.raw("HELLO", "3")

    def more(self):
        """Reads on."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise EOFError("the server closed the connection")
        self.kept += data

    def take_line(self):
        """A line, with its end."""
        while b"\r\n" not in self.kept:
            self.more()
        line, _, self.kept = self.kept.partition(b"\r\n")
        return line + b"\r\n"

    def take(self, count):
        """The next `count` bytes."""
        while len(self.kept) < count:
            self.more()
        data, self.kept = self.kept[:count], self.kept[count:]
        return data

    def reply(self):
        """The bytes of one reply."""
        line = self.take_line()
        kind = line[:1]
        if kind in b"$=!":
            count = int(line[1:])
            return line + (self.take(count + 2) if count >= 0 else b"")
        if kind in b"*~>%":
            count = max(int(line[1:]), 0) * (2 if kind == b"%" else 1)
            return line + b"".join(self.reply() for _ in range(count))
        return line

    def send(self, *words):
        """Sends a command and reads nothing."""
        words = as_words(words)
        self.socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))

    def raw(self, *words):
        """A command, and the bytes of its reply."""
        self.send(*words)
        return self.reply()

    def ask(self, *words):
        """A command, and its reply: numbers, bytes, lists, None, Error."""
        data = self.raw(*words)
        value, rest = parse(data)
        assert not rest
        return value

    def close(self):
        """Hangs up."""
        self.socket.close()


def parse(data):
    """(value, what follows) of the bytes of a reply."""
    line, _, rest = data.partition(b"\r\n")
    kind, line = line[:1], line[1:]
    if kind == b":":
        return int(line), rest
    if kind == b"#":
        return line == b"t", rest
    if kind == b"+":
        return line.decode("latin1"), rest
    if kind == b"-":
        return Error(line.decode("latin1")), rest
    if kind == b"_" or (kind in b"$*" and line == b"-1"):
        return None, rest
    if kind == b"$":
        return rest[:int(line)], rest[int(line) + 2:]
    if kind == b"%":
        found = {}
        for _ in range(int(line)):
            name, rest = parse(rest)
            found[name], rest = parse(rest)
        return found, rest
    assert kind in b"*~>", data[:40]
    values = []
    for _ in range(int(line)):
        value, rest = parse(rest)
        values.append(value)
    return values, rest


def die_with_parent():
    """In the child, before it becomes the server."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)


def free_port():
    """A port that nobody has now."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@functools.cache
def is_preloadable():
    """Whether the server runs with the runtime of the sanitizer."""
    if not os.path.exists(PRELOAD):
        return False
    done = subprocess.run([os.path.abspath(SERVER), "--version"], env={**os.environ, **SANITIZER}, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


@functools.cache
def behind():
    """What a server is started by."""
    if os.path.exists(FILTER) and not PRELOAD and subprocess.run([FILTER, "/bin/true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
        return [FILTER]
    return []


class Server:
    """A server with the module, and a connection to it."""

    def __init__(self, case, name="server", arguments=(), options=(), module=True, before=(), environment=None,
                 enter=die_with_parent, config=None):
        """`arguments` are the module's, `options` the server's; `before` are modules that come first. `enter` is called in the
        child before it becomes the server. `config` is a file of settings, which loads the module itself."""
        if not os.access(SERVER, os.X_OK):
            raise Skip("no server here: redis-check-rdb of redis-tools is missing")
        if PRELOAD and not is_preloadable():
            raise Skip(f"this server does not run with {PRELOAD}")
        self.environment = environment or {}
        self.enter = enter
        self.case = case
        self.folder = case.path(name)
        os.makedirs(self.folder, exist_ok=True)
        self.options = ["--save", "", "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"]
        for other in before:
            self.options += ["--loadmodule", other]
        self.config = []
        if config is not None:
            self.config = [self.case.path(f"{name}/conf")]
            self.case.file(f"{name}/conf", config)
        elif module:
            self.options += ["--loadmodule", MODULE, *arguments]
        self.options += list(options)
        self.process = self.client = self.port = None
        self.start()

    def launch(self):
        """Starts the program, and returns it."""
        self.port = free_port()
        with open(os.path.join(self.folder, "log"), "ab") as log:
            return self.case.spawn([*behind(), os.path.abspath(SERVER), *self.config, "--port", str(self.port), "--bind", "127.0.0.1",
                                    "--dir", self.folder, *self.options],
                                   stdin=-3, stdout=log, stderr=log, preexec_fn=self.enter,
                                   env={**os.environ, **SANITIZER, **self.environment})

    def log(self):
        """All that it logged."""
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, attempts=3):
        """Starts it and waits until it answers; another program may have taken the port first."""
        self.process = self.launch()
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                if attempts > 1 and "Address already in use" in self.log():
                    return self.start(attempts - 1)
                raise Difference(f"the server ended ({self.process.returncode}): {self.log()[-600:]}")
            try:
                self.client = Client(self.port)
                if self.client.ask("PING") == "PONG":
                    return self
            except OSError:
                pass
            time.sleep(0.02)  # between two looks
        raise Difference(f"the server does not answer: {self.log()[-600:]}")

    def refuses_to_start(self):
        """Whether it ends by itself, with an error."""
        process = self.launch()
        try:
            return process.wait(SECONDS) != 0
        except OSError:
            return False

    def stop(self, save=False):
        """Ends it as an operator does."""
        self.client.send("SHUTDOWN", "SAVE" if save else "NOSAVE")
        self.process.wait(SECONDS)
        self.client.close()

    def kill(self):
        """Ends it as a power cut does."""
        self.process.kill()
        self.process.wait(SECONDS)
        self.client.close()

    def connect(self, resp=2):
        """Another connection."""
        return Client(self.port, resp)

    def ask(self, *words):
        """A command on its own connection."""
        return self.client.ask(*words)

    def raw(self, *words):
        """The bytes of the reply."""
        return self.client.raw(*words)

    def digest(self, *keys):
        """DEBUG DIGEST-VALUE of keys."""
        return self.ask("DEBUG", "DIGEST-VALUE", *keys)

    def info(self, section):
        """A section of INFO as a dictionary."""
        lines = self.ask("INFO", section).decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def wait_for(self, condition, what):
        """Waits until a condition holds."""
        end = time.monotonic() + SECONDS
        while not condition():
            if time.monotonic() > end:
                raise Difference(f"never: {what}; {self.log()[-400:]}")
            time.sleep(0.02)  # between two looks

    def wait_for_zeros(self, *names):
        """Waits until these numbers of INFO are 0: servers free in the background."""
        for name in names:
            self.wait_for(lambda name=name: self.info("bf")[name] == "0", f"{name} is 0")

    def aof_commands(self):
        """What the increments of the AOF have, as lists of words."""
        folder = os.path.join(self.folder, "appendonlydir")
        data = b""
        for name in sorted(os.listdir(folder)):
            if ".incr." in name:
                with open(os.path.join(folder, name), "rb") as file:
                    data += file.read()
        found = []
        while data:
            words, data = parse(data)
            found.append(words)
        return [words for words in found if words[0] != b"SELECT"]


def run_beside_a_replica(c, master, replica, commands, step, check):
    """Steps of a model. After each hundred the master reloads its data, is killed and started, or reads a rewritten AOF,
    or none of these; it has the same data then, and so has the replica."""
    replica.ask("REPLICAOF", "127.0.0.1", master.port)
    for number in range(commands):
        step()
        if number % 100 == 99:
            way = number // 100 % 4
            before = master.ask("DEBUG", "DIGEST")
            if way == 0:
                master.ask("DEBUG", "RELOAD")
            elif way == 1:
                master.kill()
                master.start()
                replica.ask("REPLICAOF", "127.0.0.1", master.port)
            elif way == 2:
                done = int(master.info("persistence")["aof_rewrites"])
                master.ask("BGREWRITEAOF")
                master.wait_for(lambda done=done: master.info("persistence")["aof_rewrite_in_progress"] == "0" and
                                int(master.info("persistence")["aof_rewrites"]) > done, "rewritten")
                master.ask("DEBUG", "LOADAOF")
            c.expect(master.ask("DEBUG", "DIGEST") == before, f"command {number}, way {way}: another data set")
            replica.wait_for(lambda: replica.info("replication")["master_link_status"] == "up", "the replica is there")
            master.ask("WAIT", 1, 10_000)
            c.expect(replica.ask("DEBUG", "DIGEST") == before, f"command {number}: the replica differs")
            check()


class Clock:
    """The time of a server: it does not pass by itself."""

    def __init__(self, c, now=START):
        if "BLOOMERY_TEST_NO_SWITCH" in os.environ:
            raise Skip("a release build has no clock for tests")
        self.c = c
        self.now = now
        self.environment = {"BLOOMERY_CLOCK": c.path("clock")}
        self.go(0)

    def go(self, seconds):
        """Goes on by some seconds."""
        self.now += int(seconds * 1000)
        self.c.file("clock.new", f"{self.now}\n")
        os.rename(self.c.path("clock.new"), self.c.path("clock"))


# ---- Payloads of DUMP ----------------------------------------------------------------------------

def crc_table():
    """Of the CRC-64 that the servers end a payload with (polynomial ad93d23594c935a9, reflected)."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
        table.append(byte)
    return table


CRC = crc_table()
PAYLOAD_END = 10  # two bytes of version, eight of the sum


def sealed(payload, version=10):
    """A payload with its end."""
    data = payload + struct.pack("<H", version)
    crc = 0
    for byte in data:
        crc = CRC[(crc ^ byte) & 255] ^ crc >> 8
    return data + struct.pack("<Q", crc)
