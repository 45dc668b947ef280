/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seen-set of a partition: its fingerprints, sorted, in a file that is written once.
 *
 *     0        the file's header, 64 bytes
 *     64       frames of 4096 bytes: a checksum (u64), then the next fingerprints: 511 of 8 bytes,
 *              or 681 of 6 bytes (the upper ones, the lower 16 bits being zero); the last frame is
 *              as short as it can be
 *
 * How many fingerprints there are stands in the manifest. 8 bytes of each 4096 are not
 * fingerprints: 8.016 bytes a key.
 *
 * Fingerprints are uniform, so where one lies is guessed to within about sqrt(n) / 2 places, that
 * is a few frames. Looking for one reads two or three frames. New ones are merged in by writing the
 * file anew.
 */
#ifndef BLOOMERY_SIEVE_SEEN_H
#define BLOOMERY_SIEVE_SEEN_H

#include "sieve/store/store.h"

enum {
    BLOOMERY_SEEN_FRAME = 4096,
    BLOOMERY_SEEN_CHECKSUM = 8,
    BLOOMERY_SEEN_AREA = 128 * 1024, /* read or written at a time */
    BLOOMERY_SEEN_PER_FRAME = 682,   /* at most */
};

/* Bytes of a file of so many fingerprints of `width` bytes. */
uint64_t bloomery_seen_bytes(uint64_t entries, unsigned width);

/* Walks a file front to back, a frame at a time. */
struct bloomery_seen_reader {
    struct bloomery_store *store;
    const struct bloomery_store_file *file;
    unsigned width;
    uint64_t entries;
    uint64_t next;    /* the next frame */
    uint8_t *area;    /* BLOOMERY_SEEN_AREA bytes */
    uint64_t area_at; /* offset of the area in the file */
    size_t area_bytes;
};

void bloomery_seen_begin(struct bloomery_seen_reader *reader, struct bloomery_store *store,
                         const struct bloomery_store_file *file, uint64_t entries, unsigned width,
                         uint8_t *area);

/* The values of the next frame (BLOOMERY_SEEN_PER_FRAME at most) and their number: 0 at the end.
 * Damage is BLOOMERY_CORRUPT, its text says which frame and what it held; the reader then stands
 * behind it. */
bloomery_status bloomery_seen_next(struct bloomery_seen_reader *reader, uint64_t *values,
                                   size_t *count, bloomery_error *error);

/* Writes a file front to back. */
struct bloomery_seen_writer {
    struct bloomery_store *store;
    struct bloomery_store_file *file;
    unsigned width;
    uint64_t entries;
    uint8_t *area; /* BLOOMERY_SEEN_AREA bytes */
    size_t area_bytes;
    uint64_t area_at;
    size_t in_frame; /* bytes of the frame being filled, its checksum's included; 0: none is */
    uint64_t last;
};

void bloomery_seen_start(struct bloomery_seen_writer *writer, struct bloomery_store *store,
                         struct bloomery_store_file *file, unsigned width, uint8_t *area);

/* Appends values, each greater than the one before. */
bloomery_status bloomery_seen_put(struct bloomery_seen_writer *writer, const uint64_t *values,
                                  size_t count, bloomery_error *error);
bloomery_status bloomery_seen_finish(struct bloomery_seen_writer *writer, bloomery_error *error);

/* Whether `value` is in a file of fingerprints whose first `skip_bits` bits are all equal. `area`:
 * BLOOMERY_SEEN_FRAME bytes and BLOOMERY_SEEN_PER_FRAME values. */
struct bloomery_seen_probe {
    struct bloomery_store *store;
    const struct bloomery_store_file *file;
    unsigned width;
    unsigned skip_bits;
    uint64_t entries;
    uint64_t frame; /* the frame that is in `values`; UINT64_MAX: none */
    size_t count;
    uint64_t *values; /* room for BLOOMERY_SEEN_PER_FRAME */
    uint8_t *area;    /* room for BLOOMERY_SEEN_FRAME */
};

void bloomery_seen_probe_begin(struct bloomery_seen_probe *probe, struct bloomery_store *store,
                               const struct bloomery_store_file *file, uint64_t entries,
                               unsigned width, unsigned skip_bits, uint8_t *area, uint64_t *values);
bloomery_status bloomery_seen_probe(struct bloomery_seen_probe *probe, uint64_t value, bool *found,
                                    bloomery_error *error);

#endif
