# SPDX-License-Identifier: Apache-2.0
"""A server with an instrumented module: what the sanitizer finds ends it, so the other tests there can fail.

Build: one with AddressSanitizer; tests/module. Suite: full and server.
"""

import os

from live import PRELOAD, Server
from runner import Skip, case, main

CLASH = os.path.abspath(os.environ.get("BLOOMERY_CLASH", "build/tests/module/clash.so"))


@case
def a_byte_read_past_a_block_ends_the_server(c):
    if not PRELOAD:
        raise Skip("this build is not instrumented (-Db_sanitize=address)")
    server = Server(c)
    server.stop()
    server.options += ["--loadmodule", CLASH, "fault"]
    server.start()
    try:
        reply = server.ask("CLASH.FAULT")
    except (EOFError, OSError):
        reply = None
    c.expect(reply is None, f"it goes on: {reply}")
    server.process.wait(30)
    c.expect("AddressSanitizer: heap-buffer-overflow" in server.log(), f"another end: {server.log()[-600:]}")


main()
