/* SPDX-License-Identifier: Apache-2.0 */
/* The two filters of the original experiment on a JVM: jvm_sets.c. */
#ifndef BLOOMERY_LINEAGE_JVM_SETS_H
#define BLOOMERY_LINEAGE_JVM_SETS_H

#include "exact_sets.h"

/*
 * Starts the processes of those that are wanted. It comes first, so that a machine that can't have
 * them reports that at once. `keys` and `rate` go to Guava; `guava` is its jar, NULL Debian's.
 * False after a message; then none is left.
 */
bool tool_jvm_sets_start(const char *guava, bool guava_wanted, bool sha384_wanted, uint64_t keys,
                         double rate);

/* Ends those that are left. */
void tool_jvm_sets_end(void);

#endif /* BLOOMERY_LINEAGE_JVM_SETS_H */
