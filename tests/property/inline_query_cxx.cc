/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <bloomery/inline.h> and the initialisers of <bloomery/bloomery.h> in C++17: they compile without
 * a warning, -pedantic and -Wconversion included, also beside a <xxhash.h> of the program's own, and
 * the query and the add answer as bloomery_may_contain and bloomery_add do.
 *
 * Build: this file; the library. No arguments. Suite: property. Built once more for each vector
 * unit that the header knows; skipped where the processor has not got it.
 */
#include <xxhash.h>

#include <bloomery/inline.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace
{

int failures;

void expect(bool holds, const char *what)
{
    if (!holds) {
        std::printf("not ok - %s\n", what);
        failures++;
    }
}

void compare(std::uint32_t lines, std::uint32_t probes)
{
    bloomery_plan plan{};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = nullptr;
    bloomery_error error{};
    bloomery_filter *other = nullptr;
    bloomery_inline taken{};
    bloomery_inline_adder adder{};
    plan.kind = BLOOMERY_BLOCKED;
    plan.bits = 37 * 512;
    plan.blocks_per_key = lines;
    plan.probes = probes;
    options.seed = 42 + lines;
    if (bloomery_create(&plan, &options, &filter, &error) != BLOOMERY_OK ||
        bloomery_create(&plan, &options, &other, &error) != BLOOMERY_OK ||
        bloomery_inline_of(filter, &taken, &error) != BLOOMERY_OK ||
        bloomery_inline_adder_of(other, &adder, &error) != BLOOMERY_OK) {
        expect(false, error.text);
        bloomery_free(filter);
        bloomery_free(other);
        return;
    }
    for (std::size_t i = 0; i < 1000; i++) {
        const std::string key = std::to_string(i * 7919) + std::string(i % 60, 'x');
        if (i % 4 == 0)
            expect(bloomery_add(filter, bloomery_key_of(key.data(), key.size()), nullptr) ==
                       bloomery_inline_add(&adder, key.data(), key.size()),
                   "an answer of an add");
    }
    for (std::size_t i = 0; i < 1000; i++) {
        const std::string key = std::to_string(i * 7919) + std::string(i % 60, 'x');
        const bool maybe = bloomery_may_contain(filter, bloomery_key_of(key.data(), key.size()));
        expect(bloomery_inline_may_contain(&taken, key.data(), key.size()) == maybe, "an answer");
        expect(bloomery_inline_may_contain(&adder.query, key.data(), key.size()) == maybe,
               "a bit that was added");
        expect(maybe || i % 4 != 0, "a key that was added");
    }
    bloomery_free(filter);
    bloomery_free(other);
}

void compare_initialisers()
{
    const bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    const bloomery_create_options create = BLOOMERY_CREATE_OPTIONS;
    const bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    const bloomery_keys keys = BLOOMERY_KEYS;
    const bloomery_info info = BLOOMERY_INFO;
    const bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    expect(options.struct_bytes == sizeof options && options.blocks_per_key == 0 &&
               create.struct_bytes == sizeof create && !create.note &&
               opening.struct_bytes == sizeof opening && !opening.inspect,
           "BLOOMERY_PLAN_OPTIONS, _CREATE_OPTIONS or _OPEN_OPTIONS");
    expect(keys.struct_bytes == sizeof keys && keys.count == 0 && !keys.data, "BLOOMERY_KEYS");
    expect(info.struct_bytes == sizeof info && info.bits == 0 && !info.note, "BLOOMERY_INFO");
    expect(scan.struct_bytes == sizeof scan && scan.bits_set == 0, "BLOOMERY_SCAN_RESULT");
}

bool processor_has_it()
{
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2");
#else
    return true;
#endif
}

} // namespace

int main()
{
    const int skipped = 77; // to Meson
    if (!processor_has_it()) {
        std::printf("# this processor lacks what the program was compiled for\n");
        return skipped;
    }
    compare_initialisers();
    for (std::uint32_t lines = 1; lines <= 4; lines++)
        for (std::uint32_t probes = 1; probes <= 8; probes++)
            compare(lines, probes);
    if (failures == 0)
        std::printf("ok 1 - inline_query_answers_alike_in_cxx\n");
    std::printf("1..1\n");
    return failures > 0;
}
