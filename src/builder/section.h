/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One section of a layer: the equations of its keys are solved, and what does not fit is bumped.
 * Sections know nothing of each other: any thread may take any of them, in any order.
 */
#ifndef BLOOMERY_BUILDER_SECTION_H
#define BLOOMERY_BUILDER_SECTION_H

#include "kinds/static.h"

struct bloomery_band {
    uint64_t coefficients; /* of row p, bit i is row p + i's; 0: no equation */
    uint64_t fingerprint;
};

/* The memory of a thread for one section after the other. */
struct bloomery_section {
    const struct bloomery_ribbon *ribbon;
    uint32_t layer;
    /* An equation for each row, of which bit 0 is set: T + 64 of them. */
    struct bloomery_band *band;
    /* The words of the section's blocks, plane by plane: each as the layer has them, with no space
     * between the planes. */
    uint64_t *words;
    uint8_t *thresholds; /* of each bucket, 0 to 3 */
    size_t bumped_count;
};

/* The bytes that band, words and thresholds take. */
size_t bloomery_section_bytes(const struct bloomery_ribbon *ribbon);

/* Lays them out in this many bytes of memory at a multiple of 64. */
void bloomery_section_start(struct bloomery_section *section, const struct bloomery_ribbon *ribbon,
                            uint32_t layer, void *memory);

/* Solves section `number` for its keys, which are sorted and distinct. The bumped ones are moved to
 * the front of `keys`, in order; `bumped_count` says how many they are. */
void bloomery_section_solve(struct bloomery_section *section, uint64_t number, bloomery_hash *keys,
                            size_t count);

/* Whether a key that was not bumped is found in what was solved. */
bool bloomery_section_holds(const struct bloomery_section *section, uint64_t number,
                            bloomery_hash hash);

/* How many words of plane `plane` the section has, and where they begin in the plane and among
 * `words`. */
struct bloomery_section_run {
    uint64_t to;
    size_t from;
    size_t words;
};
struct bloomery_section_run bloomery_section_run_of(const struct bloomery_ribbon *ribbon,
                                                    uint64_t number, uint32_t plane);

#endif
