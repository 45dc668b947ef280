# SPDX-License-Identifier: Apache-2.0
"""The breaks of break.py: what is done wrong, and which test must notice it."""

import os
import shlex
import subprocess
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
    Break("stripes_lock_nothing", "src/add.c",
          [("    bloomery_lock_take(stripe);\n",
            "    bool seen = filter->operations.may_contain(link, payload, hash);\n    for (volatile int wait = 0; wait < 2000; wait++)\n        ;\n"),
           ("    bloomery_lock_open(stripe);\n",
            "    set = stripe != NULL && seen ? 0 : 1;\n")],
          "concurrent/each_key_is_new_exactly_once"),
    Break("batches_take_no_stripe", "src/add.c",
          [("uint32_t set = set_bits(adding->filter, hashes[i]);",
            "const struct bloomery_link *link = adding->filter->links;\n        uint8_t *payload = bloomery_link_payload(adding->filter, link);\n        uint32_t set = !adding->filter->operations.may_contain(link, payload, hashes[i]);\n        for (volatile int wait = 0; wait < 2000; wait++)\n            ;\n        adding->filter->operations.add(link, payload, hashes[i]);")],
          "concurrent/each_key_is_new_exactly_once"),
    Break("exactly_once_is_forgotten_by_load", "src/open.c",
          [(".exactly_once = copy && options->exactly_once,",
            ".exactly_once = !copy && options->exactly_once,")],
          "memory/every_allocation_fails_once"),

    # Building with threads.
    Break("what_is_set_aside_is_not_added_at_the_end", "src/ranges.c",
          [("while (aside->total > 0)",
            "while (aside->total > aside->ranges->room)")],
          "build/any_number_of_threads_builds_the_same", quick=True),
    Break("every_line_set_aside_is_the_first", "src/ranges.c",
          [("bloomery_word_count(count, word - AHEAD), line);",
            "bloomery_word_count(count, word - AHEAD), 0);"),
           ("bulk->add_line(ranges->filter, hashes, count, line);",
            "bulk->add_line(ranges->filter, hashes, count, 0);")],
          "build/any_number_of_threads_builds_the_same"),
    Break("a_large_map_begins_in_the_middle", "src/base/map.c",
          [("MAP_SHARED | MAP_FIXED, file, 0)", "MAP_SHARED | MAP_FIXED, file, 4096)")],
          "files/reopen_equals_where_the_map_is_large"),
    Break("a_build_has_one_thread", "src/build.c",
          [("run(members, count);", "run(members, 1);")], "build/threads_work_at_once"),
    Break("ranges_are_not_locked", "src/ranges.c",
          [("held_for(aside, range) >= enough && bloomery_lock_try(&ranges->locks[range])",
            "held_for(aside, range) >= enough"),
           ("    bloomery_lock_open(&aside->ranges->locks[range]);\n", "")],
          "build/any_number_of_threads_builds_the_same"),
    Break("numbers_belong_to_threads", "src/build.c",
          [("        if (share >= team->shares)\n            break;",
            "        if (share >= team->shares || adds > 0)\n            break;")],
          "build/without_threads_no_key_is_lost"),
    Break("adds_of_a_build_are_not_counted", "src/build.c",
          [("bloomery_count_adds(filter, team->adds);",
            "bloomery_count_adds(filter, team->adds & 1);")],
          "build/any_number_of_threads_builds_the_same"),

    # Kernels; those of each processor are below.
    Break("a_level_that_is_not_there_is_passed_over", "src/base/cpu.c",
          [("    return BLOOMERY_CPU_SCALAR;\n}\n\nstatic enum bloomery_cpu choose",
            "    return best;\n}\n\nstatic enum bloomery_cpu choose")],
          "kernels/levels_that_are_not_there_are_scalar"),
    Break("a_thread_adds_the_positions_of_another_line", "src/core/blocked.c",
          [("for (uint32_t passed = 0; passed < line * link->probes; passed++)",
            "for (uint32_t passed = 0; passed + 1 < line * link->probes; passed++)")],
          "kernels/scalar_lines_make_a_key"),

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
    Break("threads_print_when_they_are_done", "tool/blocks.c",
          [("while (blocks->done != block->number && !blocks->stopped)",
            "while (false)"),
           ("assert(blocks->done <= block->number && block->number < blocks->taken);", "")],
          "cli/test_threads.py/query_output_is_the_same_with_any_j"),
    Break("a_record_is_cut_with_its_block", "tool/blocks.c",
          [("set_rest_aside(blocks, last + 1, used - end);",
            "set_rest_aside(blocks, last + 1, 0);")],
          "cli/test_threads.py/counted_build_is_the_same_with_any_j"),
    Break("what_follows_a_hit_is_told_of", "tool/blocks.c",
          [("while (blocks->source.settled && blocks->done != blocks->taken && !blocks->stopped)",
            "while (false)")],
          "cli/test_threads.py/quiet_query_says_nothing_of_what_comes_after_the_hit"),
    Break("who_waits_for_input_is_not_woken", "tool/blocks.c",
          [("if (first && blocks->wake[1] >= 0)",
            "if (false && first)")],
          "cli/test_threads.py/quiet_query_ends_at_a_hit_though_its_input_stays_open"),
]


def compiles_for(machine):
    """Whether the compiler's programs are for such a processor."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    target = subprocess.run([*compiler, "-dumpmachine"], capture_output=True, text=True, check=False)
    return target.stdout.startswith(machine)


def has_processor_flag(flag):
    """Whether this machine can run a kernel: on another its test skips, and a break of it goes unseen."""
    if not compiles_for("x86_64"):
        return False
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as facts:
            return any(line.startswith("flags") and flag in line.split() for line in facts)
    except OSError:
        return False


if has_processor_flag("avx2"):
    BREAKS.append(Break("the_avx2_kernel_takes_the_wrong_half", "src/core/x86/line_avx2.h",
                        [("31 - 8", "31 - 7")], "kernels/kernel_equals_scalar_avx2"))
    BREAKS.append(Break("the_avx2_splitting_loses_a_bit", "tool/split.c",
                        [("high_bits << 32", "high_bits << 31")],
                        "unit/split/every_level_splits_as_memchr_does"))
    BREAKS.append(Break("the_base_splitting_loses_bits", "tool/split.c",
                        [("bits << (16 * i)", "bits << (15 * i)")],
                        "unit/split/every_level_splits_as_memchr_does"))
if has_processor_flag("avx512_vbmi2"):
    BREAKS.append(Break("the_avx512_splitting_takes_the_wrong_lane", "tool/split.c",
                        [("(4, 12, 5, 13", "(4, 12, 5, 12")],
                        "unit/split/every_level_splits_as_memchr_does"))
if has_processor_flag("avx512vl"):
    BREAKS.append(Break("eight_keys_forget_a_carry", "src/hash/x86/xxh3_template.h",
                        [("*high = LANES_OP(add_epi64)(above, LANES_OP(srli_epi64)(carry, 32));",
                          "*high = above;")],
                        "hashes/batches_hash_as_libxxhash_does"))
    BREAKS.append(Break("a_medium_key_takes_a_step_too_many", "src/hash/x86/xxh3_template.h",
                        [("step > 0 ? LANES_WHERE(bytes, 32 * step, new_low, low) : new_low",
                          "new_low")],
                        "hashes/batches_hash_as_libxxhash_does"))
    BREAKS.append(Break("the_bulk_loop_forgets_the_second_line", "src/bulk_template.h",
                        [("alive = BULK_SURVIVORS(asking, at, line, alive);", "")],
                        "membership/long_batches_equal_single"))
    BREAKS.append(Break("the_avx512_kernel_takes_the_wrong_lane", "src/core/x86/line_avx512.h",
                        [("6, 15, 24", "6, 14, 24")], "kernels/kernel_equals_scalar_avx512"))
if compiles_for("aarch64"):
    BREAKS.append(Break("the_neon_kernel_takes_the_wrong_byte", "src/core/arm/line_neon.h",
                        [("vshrq_n_u16(positions, 3)", "vshrq_n_u16(positions, 4)")],
                        "kernels/kernel_equals_scalar_neon"))
    BREAKS.append(Break("the_neon_kernel_counts_set_bits_too", "src/core/arm/line_neon.h",
                        [("vcntq_u8(vbicq_u8(bits, register_at(at, i)))", "vcntq_u8(bits)")],
                        "kernels/kernel_equals_scalar_neon"))
