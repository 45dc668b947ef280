# SPDX-License-Identifier: Apache-2.0
"""What the module shows and needs: one name, and two libraries.

Build: module/bloomery.so. Suite: full and server.
"""

import subprocess

from live import MODULE
from runner import case, main


def said_by(*command):
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@case
def one_name_is_shown(c):
    names = [line.split()[-1] for line in said_by("nm", "-D", "--defined-only", MODULE).splitlines()]
    c.expect(names == ["RedisModule_OnLoad"], f"{names}")


@case
def nothing_but_libc_and_libm_is_needed(c):
    needed = [line.split("[")[1].rstrip("]") for line in said_by("readelf", "-d", MODULE).splitlines() if "NEEDED" in line]
    c.expect(sorted(needed) == ["libc.so.6", "libm.so.6"], f"{needed}")


main()
