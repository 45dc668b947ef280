# SPDX-License-Identifier: Apache-2.0
"""A server as Debian's service runs it: behind its filter of system calls, and where only /usr/lib is executable.

Build: tests/module and module/bloomery.so. Suite: full and server.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys

from live import FILTER, MODULE, SERVER, Server, behind, die_with_parent
from runner import Skip, case, main

NEW_NAMESPACE, NEW_USER = 0x00020000, 0x10000000  # of unshare()
NOEXEC, REMOUNT, BIND, REC, PRIVATE = 8, 32, 4096, 16384, 1 << 18  # of mount()
MIB = 1 << 20


def need_filter():
    """Skips the case where no filter of system calls can be had."""
    if not behind():
        raise Skip("no filter of system calls is allowed here" if FILTER else "this build has no filter of system calls")


@case
def the_filter_of_the_service_is_in_force(c):
    need_filter()
    server = Server(c)
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        c.expect("Seccomp:\t2\n" in file.read(), "the server has no filter")
    code = "import ctypes; ctypes.CDLL(None).mincore(None, 0, None)"  # it is in no set of the unit
    done = subprocess.run([FILTER, sys.executable, "-c", code], check=False)
    c.expect(done.returncode == -signal.SIGSYS, f"mincore() is allowed: {done.returncode}")
    c.expect(subprocess.run([sys.executable, "-c", code], check=False).returncode == 0, "mincore() without the filter")


@case
def large_filters_live_behind_the_filter_of_the_service(c):
    """Their pages are taken and made huge, they are saved, loaded and released."""
    need_filter()
    server = Server(c)
    c.expect(server.ask("BF.RESERVE", "f", "0.001", 20_000_000) == "OK", "36 MB")
    c.expect(server.ask("BF.RESERVE", "g", "0.01", 100_000, "EXPANSION", 200) == "OK", "one whose next layer is large")
    for first in range(0, 110_000, 10_000):
        server.ask("BF.MADD", "g", *range(first, first + 10_000))
    c.expect(server.ask("BF.INFO", "g", "FILTERS") == [2], "it has grown")
    server.wait_for(lambda: int(server.info("bf")["bf_populated_bytes"]) > 50 * MIB, "their pages are taken")
    before = server.digest("f", "g")
    server.stop(save=True)
    server.start()
    server.wait_for(lambda: int(server.info("bf")["bf_populated_bytes"]) > 50 * MIB, "their pages are taken again")
    c.expect(server.digest("f", "g") == before, "loaded")
    c.expect(server.ask("UNLINK", "f", "g") == 2, "released")
    server.wait_for(lambda: server.info("bf")["bf_memory_bytes"] == "0", "its memory is given back")


# ---- A tree of which only /usr/lib is executable -------------------------------------------------

def mount(libc, source, target, flags):
    """mount(2); an error ends the child."""
    if libc.mount(source and source.encode(), target.encode(), None, flags, None) != 0:
        os._exit(77)


def enter_service(module_at):
    """What the child does before it becomes the server: NoExecPaths=/, ExecPaths=/usr/bin/redis-server /usr/lib, in mounts
    of its own; the module's folder is mounted at `module_at`, with the flags of what is there."""
    def enter():
        die_with_parent()
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
        if libc.unshare(NEW_NAMESPACE | (NEW_USER if os.geteuid() != 0 else 0)) != 0:
            os._exit(77)
        mount(libc, None, "/", REC | PRIVATE)
        for path in ("/usr/lib", os.path.realpath(SERVER), *([FILTER] if behind() else [])):
            mount(libc, path, path, BIND)
        mount(libc, os.path.dirname(MODULE), module_at, BIND)
        mount(libc, None, "/", REMOUNT | BIND | NOEXEC)
        if not module_at.startswith("/usr/lib/"):
            mount(libc, None, module_at, REMOUNT | BIND | NOEXEC)
    return enter


def in_service(c, module_at):
    """A server that may execute /usr/lib alone, not started yet."""
    with open(os.path.realpath(SERVER), "rb") as file:
        if file.read(4) != b"\x7fELF":
            raise Skip("this server is started by a script")
    server = Server(c, module=False)
    server.stop()
    server.enter = enter_service(module_at)
    server.options += ["--loadmodule", os.path.join(module_at, os.path.basename(MODULE))]
    probe = c.spawn([os.path.realpath(SERVER), "--version"], preexec_fn=server.enter, stdout=subprocess.DEVNULL)
    if probe.wait() != 0:
        raise Skip("no mounts of one's own are allowed here")
    return server


@case
def a_module_outside_usr_lib_is_not_loaded_by_the_service(c):
    os.makedirs(c.path("usr/local/lib"))
    server = in_service(c, c.path("usr/local/lib"))
    c.expect(server.refuses_to_start(), "it is loaded")
    c.expect("failed to map segment from shared object" in server.log(), server.log()[-600:])


@case
def a_module_in_usr_lib_is_loaded_by_the_service(c):
    folder = next((path for path in ("/usr/lib/tmpfiles.d", "/usr/lib/systemd", "/usr/lib/mime") if os.path.isdir(path)), None)
    if folder is None or shutil.which("mount") is None:
        raise Skip("no folder to mount the module at")
    server = in_service(c, folder)
    server.start()
    c.expect(server.ask("BF.ADD", "k", "x") == 1 and server.ask("BF.EXISTS", "k", "x") == 1, "it works")


main()
