/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the entry points share: reading a caller's options. Each of the three copies what the caller
 * gave (NULL: defaults) into a struct of this version. Fields that the caller's struct does not
 * have are zero. BLOOMERY_BAD_ARGUMENT for a size that no version had, or for a value out of its
 * range. BLOOMERY_UNSUPPORTED if a field is set that this version does not know.
 */
#ifndef BLOOMERY_LIBRARY_H
#define BLOOMERY_LIBRARY_H

#include "for_sieve.h"
#include "kernels/fast_path.h"
#include "kernels/input.h"
#include "kinds/filter.h"

bloomery_status bloomery_plan_options_read(const bloomery_plan_options *given,
                                           bloomery_plan_options *options, bloomery_error *error);
bloomery_status bloomery_create_options_read(const bloomery_create_options *given,
                                             bloomery_create_options *options,
                                             bloomery_error *error);
bloomery_status bloomery_open_options_read(const bloomery_open_options *given,
                                           bloomery_open_options *options, bloomery_error *error);

/* BLOOMERY_BAD_ARGUMENT, with what a rule may be, if this one contradicts itself. */
bloomery_status bloomery_rule_check(const bloomery_key_rule *rule, bloomery_error *error);

/* Copies a caller's plan into one of this version, likewise. `given` and `plan` are two structs. */
bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error);
/* And back: as much of it as the caller's struct has room for. Its size stays what it was. */
void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given);

/*
 * Copies a caller's plan from which a filter is to be made, and solves it if that was not done:
 * bits, probes and the like are known then. `kind` stands for BLOOMERY_KIND_DEFAULT. The caller's
 * plan stays as it is. BLOOMERY_BAD_ARGUMENT and BLOOMERY_UNSUPPORTED as bloomery_create says, also
 * if the plan was changed after it was solved.
 */
bloomery_status bloomery_plan_settle(const bloomery_plan *given, bloomery_kind kind,
                                     bloomery_plan *plan, bloomery_error *error);

/* The bytes of the filter's file, and all memory that was allocated for it. */
uint64_t bloomery_file_bytes(const bloomery_filter *filter);
uint64_t bloomery_memory(const bloomery_filter *filter);

/* ---- Creating -------------------------------------------------------------------------------- */

/* What creating a filter and building one have in common. */

/* The hash of the plan (`plain` if it has none), or the one that a secret requires, and its secret.
 */
bloomery_status bloomery_choose_hash(const bloomery_plan *plan, bloomery_hash_id plain,
                                     const bloomery_create_options *options,
                                     struct bloomery_shape *shape, struct bloomery_traits *traits,
                                     bloomery_error *error);

/* Options for creating, as those for opening: a filter that was designed is one that was read. A
 * seed or a secret is BLOOMERY_BAD_ARGUMENT. */
bloomery_status bloomery_creation_as_opening(const bloomery_create_options *given,
                                             bloomery_open_options *options, bloomery_error *error);

/* ---- Queries --------------------------------------------------------------------------------- */

/* What queries of a key and of many keys have in common. */

/* Whether hashes say where keys are; else BLOOMERY_UNSUPPORTED. */
bloomery_status bloomery_can_take_hashes(const bloomery_filter *filter, bloomery_error *error);

/* Whether keys can be hashed, too: BLOOMERY_SECRET_NEEDED. */
bloomery_status bloomery_can_hash(const bloomery_filter *filter, bloomery_error *error);

/* `answers` as in bloomery_may_contain_keys; how many are true. All of them are keys. */
size_t bloomery_query_input(const bloomery_filter *filter, const struct bloomery_input *keys,
                            size_t count, uint64_t *answers);

/* The same of any input: where something is not a key, the answer is 0. */
size_t bloomery_query_present(const bloomery_filter *filter, const struct bloomery_input *keys,
                              size_t count, uint64_t *answers);

/* ---- Adding ---------------------------------------------------------------------------------- */

/* What adding a key, many keys and a build have in common. */

/* BLOOMERY_OK, BLOOMERY_READ_ONLY, BLOOMERY_SECRET_NEEDED, or BLOOMERY_UNSUPPORTED if the hash of
 * another system is not available. */
bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error);

/* The same for removing: also BLOOMERY_UNSUPPORTED if the filter does not have counters. */
bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error);

/* As bloomery_add_keys in the calling thread, of a filter that keys can be added to, and of an
 * input that has no `valid`. `answers` and `counts` may be NULL. */
bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, bloomery_counts *counts,
                                   bloomery_error *error);

/* The same of any input: where something is not a key, the answer is 0. */
bloomery_status bloomery_add_present(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint64_t *answers, bloomery_counts *counts,
                                     bloomery_error *error);

/* As bloomery_add_keys with these threads, which were checked; positive and cells are 0. */
bloomery_status bloomery_build_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint32_t threads, bloomery_counts *counts,
                                     bloomery_error *error);

/* As bloomery_remove_keys, of a filter that keys can be removed from. */
void bloomery_remove_input(bloomery_filter *filter, const struct bloomery_input *keys, size_t count,
                           uint64_t *answers, bloomery_counts *counts);

/* A caller's keys, checked whole. */
bloomery_status bloomery_keys_read(const bloomery_filter *filter, const bloomery_keys *keys,
                                   struct bloomery_input *input, bloomery_error *error);

/* Whether a call may ask for this many threads. */
bloomery_status bloomery_threads_check(uint32_t threads, bloomery_error *error);

/* How many threads that is; at least 1. */
uint32_t bloomery_threads_of(uint32_t threads);

/* Counts keys that were added, in a concurrent filter while others do so too. */
void bloomery_count_adds(bloomery_filter *filter, uint64_t adds);

/* ---- Making a filter ------------------------------------------------------------------------- */

/* From a shape to a filter whose keys take the fastest path that there is for them. */

/* bloomery_make, and the path that the filter's keys take. */
bloomery_status bloomery_filter_make(struct bloomery_checked_shape checked,
                                     const struct bloomery_traits *traits, const uint8_t *payload,
                                     struct bloomery_filter **out, bloomery_error *error);

/* Releases what a filter owns besides its own block (create.c). */
void bloomery_release_others(struct bloomery_filter *filter);

/* The fast path of a filter's batches; NULL: there is none. */
static inline const struct bloomery_fast_path *bloomery_fast_path_of(const bloomery_filter *filter)
{
    const struct bloomery_fast_path *batches = filter->operations->batches;
    return batches != NULL ? batches : bloomery_fast_paths[filter->fast_path];
}

/* The slow path, for any filter (keys.c). */
extern const struct bloomery_lookup bloomery_lookup_any;
extern const struct bloomery_addition bloomery_addition_any;

#endif /* BLOOMERY_LIBRARY_H */
