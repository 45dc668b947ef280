/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MANIFEST: what counts. Four copies of one size, two of each of the last two commits:
 *
 *     | slot 0               | slot 1               |
 *     | copy 0   | copy 1    | copy 0   | copy 1    |
 *       header, settings, counters, queue, leases, engine, then anything
 *
 * A commit syncs all other files, then writes one copy of the slot that is not the newest, and
 * syncs it. Only then it writes the other copy, which need not be waited for. The sync of the next
 * commit takes it along before it touches this slot's twin. So whatever a crash or a power cut
 * leaves,
 *
 *     while the first copy is written     the second one is whole: the state before the last
 *     while the second one is written     the first one is whole, and durable
 *
 * each slot has a copy that is whole, and the greatest generation among whole copies is that of the
 * last commit. A slot without any is damage and nothing else (or the power was cut while nobody
 * synced). What it held may have been the last commit. Then nothing is opened, rather than the
 * commit undone. One damaged copy costs nothing.
 *
 * A copy, little-endian:
 *
 *     0    "BLMSIEVE"
 *     8    version             u32    3
 *     12   number of the slot  u32
 *     16   bytes of a copy     u64
 *     24   bytes used          u64
 *     32   generation          u64    one more with each commit; its last bit: the slot
 *     40   checksum            u64    XXH3-64 of the used bytes with zeros here, seed 0
 *     48   id                  16 bytes: drawn when the sieve was made; the other files' seed
 *     64   engine, fingerprint bits, partitions, what to do when full, leases, hash, ordered,
 *          not synced    u32 each
 *     96   keys u64, rate f64
 *     112  secret key of the hash      16 bytes
 *     128  name of the canonicaliser   32 bytes
 *     160  name of the dialect         32 bytes
 *     192  pushed, new, seen, pending, forced, marked u64, expected drops f64
 *     248  bytes of the queue's state, bytes of the engine's    u64 each
 *     264  seconds of the longest lease that is out, or more    f64, 0: not known
 *     272  dead items: generation of their file, bytes, items    u64 each (queue/dead.h)
 *     296  0, up to
 *     320  the queue's state, the engine's state
 *
 * Versions 1 and 2 were never released and are not read.
 *
 * The file has the secret key of the hash: who knows it can make keys that collide. So it is made
 * to be read by its owner only; one that is made anew keeps the permissions that it had.
 */
#ifndef BLOOMERY_SIEVE_MANIFEST_H
#define BLOOMERY_SIEVE_MANIFEST_H

#include "sieve/engine.h"

enum {
    BLOOMERY_MANIFEST_VERSION = 3,
    BLOOMERY_MANIFEST_COPIES = 2, /* of a slot */
    BLOOMERY_MANIFEST_UNSYNCED = 92,
    BLOOMERY_MANIFEST_COUNTERS = 192,
    BLOOMERY_MANIFEST_LENGTHS = 248,
    BLOOMERY_MANIFEST_LONGEST = 264,
    BLOOMERY_MANIFEST_DEAD = 272,
    BLOOMERY_MANIFEST_STATE = 320,
    BLOOMERY_MANIFEST_PAGE = 4096,
    BLOOMERY_MANIFEST_MAX = 64 << 20, /* bytes of a copy */
};

/* Where the checksum lies, and what it is of an image of so many bytes. */
void bloomery_manifest_seal(uint8_t *image, size_t used);
bool bloomery_manifest_is_sealed(uint8_t *image, size_t used);

extern const uint8_t bloomery_manifest_magic[8];

/* Memory for a copy. */
bloomery_status bloomery_manifest_image(bloomery_sieve *sieve, uint64_t bytes,
                                        bloomery_error *error);

/* As _open, and if a slot has no whole copy the other one is taken all the same: `undone`
 * becomes whether that is so. For recover.c. */
bloomery_status bloomery_manifest_open_older(bloomery_sieve *sieve, bool *undone,
                                             bloomery_error *error);

/* Makes the file anew, all four copies with the state in the image, of so many bytes, and gives it
 * its name in one step. Durable when it returns. */
bloomery_status bloomery_manifest_replace(bloomery_sieve *sieve, size_t used,
                                          bloomery_error *error);

#endif
