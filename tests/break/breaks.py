# SPDX-License-Identifier: Apache-2.0
"""The breaks of break.py: what is done wrong, and which test must notice it."""

from dataclasses import dataclass

# Pieces of C are easier to compare with their source where they are not cut.
# pylint: disable=line-too-long


@dataclass
class Break:
    """One way to do wrong. `test` is PROGRAM/NAME, or cli/FILE/CASE."""

    name: str
    file: str
    edits: list  # (piece of the file, what stands there instead)
    test: str
    quick: bool = False


BREAKS = [
    # Checksums and headers.
    Break("checksum_skips_the_last_span", "src/format/checksum.c",
          [("for (uint64_t i = 0; i < count; i++) {",
            "for (uint64_t i = 0; i + 1 < count; i++) {")],
          "damage/payload_damage_is_found_at_its_place", quick=True),
    Break("checksum_of_checksums_is_not_compared", "src/format/checksum.c",
          [("bloomery_load_u64(checksums + count * 8))",
            "bloomery_load_u64(checksums + count * 8) && false)")],
          "damage/every_checksum_byte_flipped_is_found"),
    Break("checksum_of_the_header_is_not_compared", "src/format/parse.c",
          [("if (checksum != parsed->header_checksum)",
            "if (checksum == 1)")],
          "damage/every_header_byte_flipped_is_refused", quick=True),
    Break("checksums_are_not_tied_to_their_header", "src/hash/xxh3.c",
          [("return XXH3_64bits_withSeed(data, bytes, seed);",
            "(void)seed;\n    return XXH3_64bits_withSeed(data, bytes, 0);")],
          "damage/checksums_of_another_file_are_found"),
    Break("what_follows_a_filter_is_passed_over", "src/format/parse.c",
          [("if (end != prefix->file_bytes)",
            "if (end > prefix->file_bytes)")],
          "damage/every_truncation_refused"),
    Break("spare_bits_are_not_looked_at", "src/format/checksum.c",
          [("for (uint64_t bit = link->bits; bit < link->bytes * 8; bit++)",
            "for (uint64_t bit = link->bits + 8; bit < link->bytes * 8; bit++)")],
          "damage/set_spare_bits_are_found"),
    Break("later_versions_are_read", "src/format/parse.c",
          [("if (version > BLOOMERY_FORMAT_VERSION)",
            "if (version > BLOOMERY_FORMAT_VERSION + 1)")],
          "hostile/hostile_headers_are_refused"),
    Break("unknown_required_records_are_skipped", "src/format/parse.c",
          [("if ((flags & RECORD_REQUIRED) != 0)",
            "if ((flags & RECORD_REQUIRED) > 1)")],
          "hostile/hostile_records_are_refused"),
    Break("k_has_no_limit", "src/core/make.c",
          [("if (link->probes < 1 || link->probes > BLOOMERY_PROBES_MAX ||",
            "if (link->probes < 1 ||")],
          "hostile/hostile_links_are_refused"),

    # Positions.
    Break("positions_overlap", "src/core/derive.h",
          [("draw->word >>= BLOOMERY_POSITION_BITS;",
            "draw->word >>= BLOOMERY_POSITION_BITS - 1;")],
          "positions/positions_are_independent", quick=True),
    Break("positions_take_the_bits_of_the_line", "src/core/derive.h",
          [("return (struct bloomery_draw){hash.lo, hash.lo,",
            "return (struct bloomery_draw){hash.hi >> 1, hash.hi >> 1,")],
          "positions/positions_are_independent"),
    Break("products_have_32_bits", "src/core/derive.h",
          [("return (uint64_t)(((unsigned __int128)hash * size) >> 64);",
            "return ((hash >> 32) * (uint32_t)size) >> 32;")],
          "positions/classic_positions_reach_2_to_40_bits"),
    Break("lines_have_32_bits", "src/core/derive.h",
          [("return bloomery_fastrange(high, blocks);",
            "return bloomery_fastrange(high, (uint32_t)blocks);")],
          "positions/blocked_lines_reach_2_to_40_bits"),
    Break("steps_are_the_same_for_every_key", "src/core/derive.h",
          [("bloomery_mix64(hash.hi + probe * (hash.lo | 1))",
            "hash.hi + probe * BLOOMERY_GOLDEN")],
          "positions/classic_steps_are_uniform"),
    Break("one_hash_word_for_all_probes", "src/core/derive.h",
          [("bloomery_mix64(hash.hi + probe * (hash.lo | 1))",
            "bloomery_mix64(hash.hi + probe % 4 * (hash.lo | 1))")],
          "rate/measured_rate_within_bounds_at_powers_of_two"),
    Break("another_derivation", "src/core/derive.h",
          [("UINT64_C(0x94D049BB133111EB)",
            "UINT64_C(0x94D049BB133111ED)")],
          "golden/golden_files_answer_as_ever", quick=True),
    Break("the_last_key_of_a_batch_is_lost", "src/core/batch.h",
          [("uint32_t set = add_with(BATCH_SET, link, payload, hashes[i]);",
            "uint32_t set = i < 63 ? add_with(BATCH_SET, link, payload, hashes[i]) : 0;")],
          "membership/no_false_negatives", quick=True),
    Break("repeated_keys_are_new_again", "src/core/batch.h",
          [("(uint64_t)(set > 0) << i",
            "(uint64_t)1 << i")],
          "membership/duplicates_in_one_batch_are_new_once"),
    Break("the_seed_is_forgotten", "src/hash/xxh3.c",
          [("XXH3_128bits_withSeed(key.data, key.bytes, secret->seed)",
            "XXH3_128bits_withSeed(key.data, key.bytes, secret->seed & 1)")],
          "hashes/xxh3_hashes_are_those_of_libxxhash"),
    Break("two_threads_set_a_bit_in_two_steps", "src/core/bits.h",
          [("return (__atomic_fetch_or(byte, mask, __ATOMIC_RELAXED) & mask) == 0;",
            "uint8_t before = __atomic_load_n(byte, __ATOMIC_RELAXED);\n    for (volatile int wait = 0; wait < 2000; wait++)\n        ;\n    __atomic_store_n(byte, before | mask, __ATOMIC_RELAXED);\n    return 1;")],
          "concurrent/concurrent_adds_to_one_line_lose_nothing"),

    # Rates.
    Break("the_classic_formula_for_lines", "src/plan/blocked_rate.c",
          [("    if (keys == 0)\n        return 0;\n    double picks",
            "    if (blocks > 0)\n        return pow(-expm1(-(double)keys * rates->lines * rates->probes / ((double)blocks * 512)), rates->lines * rates->probes);\n    double picks")],
          "rate/measured_rate_within_bounds", quick=True),
    Break("the_mean_of_a_line_to_the_k", "src/plan/blocked_rate.c",
          [("rates->rate[i][rates->known] = rates->occupancy.moment[(i + 1) * rates->probes];",
            "rates->rate[i][rates->known] = pow(rates->occupancy.moment[1], (i + 1) * rates->probes);")],
          "rate/live_rate_within_bounds_of_small_rates"),
    Break("the_limit_for_small_arrays", "src/plan/classic_rate.c",
          [("    if (bits < probes)\n        return tiny_rate(bits, probes, throws);",
            "    if (bits < probes)\n        (void)tiny_rate(bits, probes, throws);\n    if (bits > 0)\n        return pow(-expm1(-throws / (double)bits), probes);")],
          "rate/measured_rate_within_bounds_in_tiny_filters"),
    Break("the_live_rate_is_fill_to_the_k", "src/core/blocked.c",
          [("scan->live_rate = pow(sum / (double)link->blocks, link->lines);",
            "scan->live_rate = pow((double)scan->bits_set / (double)link->bits, link->probes * link->lines);")],
          "rate/live_rate_matches_measurement"),
    Break("the_estimate_forgets_the_lines", "src/core/blocked.c",
          [("missed / (link->lines * log1p(-hit))",
            "missed / log1p(-hit)")],
          "rate/estimate_within_bounds"),

    # Files.
    Break("rename_before_sync", "src/base/file.c",
          [("    if (sync_file(replacement->file) != 0)\n        return bloomery_fail_system(error, errno, \"syncing %s\", replacement->target);\n    bloomery_status status = give_name",
            "    bloomery_status status = give_name"),
           ("    replacement->named = false; /*",
            "    if (sync_file(replacement->file) != 0)\n        return bloomery_fail_system(error, errno, \"syncing %s\", replacement->target);\n    replacement->named = false; /*")],
          "save_faults/kill_loses_nothing", quick=True),
    Break("the_file_is_not_synced", "src/base/file.c",
          [("if (sync_file(replacement->file) != 0)",
            "if (replacement->file < 0)")],
          "save_faults/kill_loses_nothing", quick=True),
    Break("the_directory_is_not_synced", "src/base/file.c",
          [("if (sync_file(replacement->directory) != 0 &&",
            "if (replacement->directory < 0 &&")],
          "save_faults/kill_loses_nothing", quick=True),
    Break("a_failed_rename_is_passed_over", "src/base/file.c",
          [("replacement->target) != 0)\n        return bloomery_fail_system(error, errno, \"renaming",
            "replacement->target) > 0)\n        return bloomery_fail_system(error, errno, \"renaming")],
          "save_faults/save_survives_every_fault"),
    Break("the_target_is_written_in_place", "src/base/file.c",
          [("openat(replacement->directory, \".\", O_TMPFILE | flags,",
            "openat(replacement->directory, replacement->target, O_CREAT | O_TRUNC | flags,"),
           ("    if (replacement->named)\n        return BLOOMERY_OK;\n",
            "    if (replacement != NULL)\n        return BLOOMERY_OK;\n"),
           ("    if (renameat(",
            "    if (false && renameat(")],
          "save_faults/save_survives_every_fault"),
    Break("short_writes_are_taken_for_whole_ones", "src/base/file.c",
          [("next += moved;\n        bytes -= (size_t)moved;",
            "next += piece;\n        bytes -= piece;")],
          "save_faults/save_survives_short_writes_and_interrupts"),
    Break("litter_stays", "src/base/file.c",
          [("unlinkat(replacement->directory, replacement->temporary, 0);",
            "{}")],
          "save_faults/save_survives_every_fault"),

    # Memory.
    Break("a_refused_copy_leaks", "src/open.c",
          [("bloomery_free(*filter);\n        *filter = NULL;\n    }\n    bloomery_release",
            "*filter = NULL;\n    }\n    bloomery_release")],
          "memory/every_allocation_fails_once"),
    Break("memory_is_taken_before_the_checks", "src/open.c",
          [("    bloomery_status status = parse_span(data, bytes, given, true, &parsed, &traits, error);",
            "    if (given != NULL && given->allocator.allocate != NULL)\n        given->allocator.release(given->allocator.context,\n                                 given->allocator.allocate(given->allocator.context, 64, 64), 64, 64);\n    bloomery_status status = parse_span(data, bytes, given, true, &parsed, &traits, error);")],
          "damage/every_truncation_refused"),

    # The command.
    Break("the_lock_locks_nothing", "tool/files.c",
          [("locked = flock(descriptor, LOCK_EX);",
            "locked = flock(descriptor, LOCK_SH);")],
          "cli/test_add.py/two_adders_lose_nothing", quick=True),
]


def has_processor_flag(flag):
    """Whether this machine can run a kernel: on another its test skips, and a break of it goes unseen."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as facts:
            return any(line.startswith("flags") and flag in line.split() for line in facts)
    except OSError:
        return False


if has_processor_flag("avx2"):
    BREAKS.append(Break("the_avx2_kernel_takes_the_wrong_half", "src/core/x86/blocked_x86.c",
                        [("31 - 8", "31 - 7")], "kernels/kernel_equals_scalar_avx2"))
if has_processor_flag("avx512vl"):
    BREAKS.append(Break("the_avx512_kernel_takes_the_wrong_lane", "src/core/x86/blocked_x86.c",
                        [("6, 15, 24", "6, 14, 24")], "kernels/kernel_equals_scalar_avx512"))
