#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the first inputs of the fuzz targets of a sieve's directory: fuzz/make_sieve_corpus.py

Those of fuzz/look.c, which reads MANIFEST alone, are changes to that.

Each is a sound directory by its number, how it is used, and changes to it (fuzz/sieve_change.c).
"""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
DISK, DISK_4, ORDERED_4, ORDERED_48, GROWING, WARNING, FOREIGN = range(7)

# How it is used.
MEND, MEND_PLACES = 2, 3
KEEP_LEASES, VERIFY, FLUSH, AMPLE, POP_ALL, PUSH_NOTHING = 4, 8, 16, 32, 64, 128

# What is changed, and where.
SET, FLIP, NUMBER, ADD, CUT, EXTEND, SWAP, REMOVE, COPY, COPY_AS, BEFORE, OTHER, MOVE, TEAR = range(14)
FIELDS = 128
NEWEST, OLDER, MANIFEST, FIRST, SECOND, THIRD = range(6)  # FIRST: the file behind MANIFEST, by its name


def place(at):
    """A place as it stands in an input."""
    return list(at.to_bytes(3, "little"))


INPUTS = {
    **{f"sound-{story}": [story, VERIFY | FLUSH if story % 2 else KEEP_LEASES] for story in range(7)},
    "sound-all-popped": [DISK, POP_ALL | PUSH_NOTHING],
    "torn-slot": [DISK_4, VERIFY, TEAR, NEWEST, 1],
    "slot-never-written": [ORDERED_4, KEEP_LEASES, TEAR, NEWEST, 0],
    "manifest-of-before": [WARNING, FLUSH, BEFORE, MANIFEST, 0],
    "file-of-before": [DISK, VERIFY, BEFORE, FIRST, 0],
    "log-of-before": [FOREIGN, 0, BEFORE, FIRST + 3, 0],
    "file-of-another-sieve": [DISK_4, VERIFY, OTHER, SECOND, 2 * ORDERED_4 + 1, 0],
    "lost-file": [ORDERED_48, VERIFY, REMOVE, FIRST],
    "longer-file": [GROWING, VERIFY, EXTEND, SECOND, 7, 255],
    "shorter-file": [FOREIGN, VERIFY, CUT, THIRD, *place(100)],
    "short-segment-with-leases": [DISK, KEEP_LEASES | VERIFY | POP_ALL | PUSH_NOTHING, CUT, SECOND, *place(4)],
    "litter": [DISK, 0, COPY_AS, FIRST, 2, 200, 1, COPY_AS, SECOND, 4, 0, 0],
    "flipped-bit": [DISK_4, VERIFY, FLIP, THIRD, *place(70), 3],
    "flipped-fingerprint": [DISK, 0, FLIP, FIRST + 4, *place(500), 3],
    "flipped-fingerprint-48": [ORDERED_48, FLUSH, SET, FIRST + 4, *place(3000), 3, 1, 2, 3, 4],
    "swapped-blocks": [DISK, VERIFY | FLUSH, FIELDS | MOVE, SECOND, SECOND, *place(0), *place(1), 200, 0],
    "mended-count": [DISK_4, MEND | VERIFY, FIELDS | ADD, NEWEST, *place(200 // 4), 3, 1],
    "mended-entries-of-a-log": [DISK, MEND | FLUSH, FIELDS | ADD, NEWEST, *place(1056 // 4), 3, 255],
    "mended-more-entries-of-a-log": [DISK, MEND | FLUSH, FIELDS | ADD, NEWEST, *place(1056 // 4), 3, 1],
    "mended-keys-of-another-system": [FOREIGN, MEND, FIELDS | NUMBER, NEWEST, *place(96 // 4), 2, 14],
    "mended-lease": [DISK, MEND | KEEP_LEASES, FIELDS | NUMBER, NEWEST, *place(424 // 4), 3, 18],
    "mended-key": [ORDERED_4, MEND | FLUSH, FIELDS | SET, SECOND, *place(60 << 8), 3, 1, 2, 3, 4],
    "mended-fingerprint": [ORDERED_48, MEND | FLUSH, FIELDS | SET, FIRST, *place(49 << 8), 7, *range(8)],
    "mended-filter": [GROWING, MEND | VERIFY, SET, FIRST, *place(300), 3, 255, 255, 255, 255],
    "mended-swap": [DISK, MEND_PLACES | VERIFY | FLUSH, SWAP, SECOND, THIRD],
    "mended-copy": [ORDERED_4, MEND_PLACES | POP_ALL, COPY, SECOND, THIRD],
}


# Places of numbers in a copy: its settings, counters and lengths, then the queue's state and the engine's.
LOOKS = {
    **{f"sound-{story}": [story, 0] for story in range(7)},
    "torn-slot": INPUTS["torn-slot"],
    "slot-never-written": INPUTS["slot-never-written"],
    "manifest-of-before": INPUTS["manifest-of-before"],
    "manifest-of-another-sieve": [DISK, 0, OTHER, MANIFEST, 2 * ORDERED_4 + 1, 0],
    "lost": [DISK_4, 0, REMOVE, MANIFEST],
    "shorter": [DISK_4, 0, CUT, MANIFEST, *place(5000)],
    "longer": [DISK_4, 0, EXTEND, MANIFEST, 7, 255],
    "flipped-bit": [ORDERED_4, 0, FLIP, MANIFEST, *place(200), 3],
    **{f"mended-{name}": [story, MEND, FIELDS | NUMBER, NEWEST, *place(at // 4), 3, value]
       for story, name, at, value in ((DISK, "engine", 64, 18), (DISK, "partitions", 72, 14), (WARNING, "keys", 96, 18),
                                      (DISK_4, "counter", 192, 18), (DISK_4, "queue-length", 248, 18),
                                      (ORDERED_4, "engine-length", 256, 3), (GROWING, "queue", 320, 18),
                                      (ORDERED_48, "row", 600, 18))},
}


def main():
    """Writes the inputs."""
    for target, inputs in (("sieve", INPUTS), ("look", LOOKS)):
        folder = os.path.join(HERE, "corpus", target)
        os.makedirs(folder, exist_ok=True)
        for name, data in inputs.items():
            with open(os.path.join(folder, name + ".input"), "wb") as file:
                file.write(bytes(data))


main()
