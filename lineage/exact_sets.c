/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The structures that people use before they use a filter, each made as well as it can be made
 * simply. So the experiment compares filters with good alternatives and not with poor ones:
 *
 *   string set    an open-addressing table, two thirds full. A slot of 8 bytes holds 24 bits of the
 *                 hash and the place of the string in an arena, where it stands behind its length.
 *                 An absent key costs one cache line of the table, a present one also one of the
 *                 arena
 *   sorted list   the strings in order, one array without gaps, and binary search. Sorted by radix,
 *                 which is possible because twelve decimal digits are a number below 2^40
 *   integer set   the same sort of table over the keys as 64-bit numbers, possible if the keys are
 *                 known to be numbers
 *
 * hash_sets.c has those that keep a hash instead of the key. The memory of all is requested in huge
 * pages, as the filters' is.
 */
#include "exact_sets.h"

#include "portions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20 };

/* ---- Memory ---------------------------------------------------------------------------------- */

void *tool_meter_allocate(struct tool_meter *meter, uint64_t bytes, size_t alignment)
{
    assert(bytes > 0 && alignment > 0 && (alignment & (alignment - 1)) == 0);
    const bool large = bytes >= 2 * (uint64_t)HUGE_PAGE;
    if (alignment < 64)
        alignment = 64;
    if (large && alignment < HUGE_PAGE)
        alignment = HUGE_PAGE;
    void *memory = NULL;
    if (bytes > SIZE_MAX / 2 || posix_memalign(&memory, alignment, (size_t)bytes) != 0)
        return NULL;
    if (large)
        (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* a wish: it may be refused */
    memset(memory, 0, (size_t)bytes);
    meter->bytes += bytes;
    meter->most = meter->bytes > meter->most ? meter->bytes : meter->most;
    return memory;
}

void tool_meter_release(struct tool_meter *meter, void *memory, uint64_t bytes)
{
    if (memory == NULL)
        return;
    assert(meter->bytes >= bytes);
    meter->bytes -= bytes;
    free(memory);
}

/* ---- Set of strings -------------------------------------------------------------------------- */

struct string_set {
    char *arena;
    uint64_t arena_bytes;
    uint64_t arena_used;
    uint64_t *slots; /* 0: empty, else tag << 40 | place in the arena + 1 */
    uint64_t slot_count;
};

enum { TAG_SHIFT = 40 };
#define PLACE_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

static void string_set_release(void *set, struct tool_meter *meter)
{
    struct string_set *strings = set;
    tool_meter_release(meter, strings->arena, strings->arena_bytes);
    tool_meter_release(meter, strings->slots, strings->slot_count * sizeof(uint64_t));
    tool_meter_release(meter, strings, sizeof(*strings));
}

static bool string_equal(const struct string_set *strings, uint64_t slot, const char *key)
{
    const char *string = strings->arena + (slot & PLACE_MASK) - 1;
    return string[0] == TOOL_DIGITS && memcmp(string + 1, key, TOOL_DIGITS) == 0;
}

static uint64_t string_tag(uint64_t hash)
{
    return hash << TAG_SHIFT; /* the low bits; the slot comes from the high ones */
}

/* The slot, from `slot` on, that has this tag or is empty. */
static uint64_t string_find(const struct string_set *strings, uint64_t slot, uint64_t tag)
{
    while (strings->slots[slot] != 0 && (strings->slots[slot] & ~PLACE_MASK) != tag)
        slot = tool_next_slot(slot, strings->slot_count);
    return slot;
}

static void string_set_add(void *set, const char *keys, size_t count)
{
    struct string_set *strings = set;
    uint64_t hashes[TOOL_PORTION];
    for (size_t i = 0; i < count; i++) {
        hashes[i] = tool_key_hash(keys + i * TOOL_DIGITS);
        tool_fetch_slots(strings->slots, tool_scale(hashes[i], strings->slot_count),
                         sizeof(uint64_t));
    }
    for (size_t i = 0; i < count; i++) {
        const char *key = keys + i * TOOL_DIGITS;
        const uint64_t tag = string_tag(hashes[i]);
        uint64_t slot = string_find(strings, tool_scale(hashes[i], strings->slot_count), tag);
        while (strings->slots[slot] != 0 && !string_equal(strings, strings->slots[slot], key))
            slot = string_find(strings, tool_next_slot(slot, strings->slot_count), tag);
        if (strings->slots[slot] != 0)
            continue; /* it is there already */
        char *string = strings->arena + strings->arena_used;
        string[0] = TOOL_DIGITS;
        memcpy(string + 1, key, TOOL_DIGITS);
        strings->slots[slot] = tag | (strings->arena_used + 1);
        strings->arena_used += 1 + TOOL_DIGITS;
        assert(strings->arena_used <= strings->arena_bytes);
    }
}

static uint64_t string_set_query_portion(const void *set, const char *keys, size_t count)
{
    const struct string_set *strings = set;
    uint64_t tags[TOOL_PORTION];
    uint64_t slots[TOOL_PORTION];
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = tool_key_hash(keys + i * TOOL_DIGITS);
        tags[i] = string_tag(hash);
        slots[i] = tool_scale(hash, strings->slot_count);
        tool_fetch_slots(strings->slots, slots[i], sizeof(uint64_t));
    }
    for (size_t i = 0; i < count; i++) {
        slots[i] = string_find(strings, slots[i], tags[i]);
        if (strings->slots[slots[i]] != 0)
            __builtin_prefetch(strings->arena + (strings->slots[slots[i]] & PLACE_MASK));
    }
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        const char *key = keys + i * TOOL_DIGITS;
        uint64_t slot = slots[i];
        while (strings->slots[slot] != 0 && !string_equal(strings, strings->slots[slot], key))
            slot = string_find(strings, tool_next_slot(slot, strings->slot_count), tags[i]);
        answers |= (uint64_t)(strings->slots[slot] != 0) << i;
    }
    return answers;
}

static void *string_set_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                             bool *told)
{
    (void)rate;
    (void)told;
    struct string_set *strings = tool_meter_allocate(meter, sizeof(*strings), 64);
    if (strings == NULL)
        return NULL;
    strings->arena_bytes = (uint64_t)keys.count * (1 + TOOL_DIGITS);
    strings->slot_count = tool_slots_for(keys.count);
    assert(strings->arena_bytes < PLACE_MASK);
    strings->arena = tool_meter_allocate(meter, strings->arena_bytes, 64);
    strings->slots = tool_meter_allocate(meter, strings->slot_count * sizeof(uint64_t), 64);
    if (strings->arena == NULL || strings->slots == NULL) {
        string_set_release(strings, meter);
        return NULL;
    }
    tool_add_by_portions(strings, keys, string_set_add);
    return strings;
}

static void string_set_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    tool_query_by_portions(set, keys, answers, string_set_query_portion);
}

const struct tool_structure tool_string_set = {
    .name = "strings",
    .title = "set of strings",
    .exact = true,
    .make = string_set_make,
    .release = string_set_release,
    .query = string_set_query,
};

/* ---- Sorted list ----------------------------------------------------------------------------- */

struct sorted_list {
    char *text;
    size_t count;
};

static void sorted_list_release(void *set, struct tool_meter *meter)
{
    struct sorted_list *list = set;
    tool_meter_release(meter, list->text, (uint64_t)list->count * TOOL_DIGITS);
    tool_meter_release(meter, list, sizeof(*list));
}

static void key_write(char *key, uint64_t number)
{
    for (unsigned i = TOOL_DIGITS; i-- > 0; number /= 10)
        key[i] = (char)('0' + number % 10);
    assert(number == 0);
}

enum { RADIX_BITS = 10, RADIX = 1 << RADIX_BITS, RADIX_PASSES = 4 };
_Static_assert(RADIX_BITS *RADIX_PASSES == 40, "twelve digits are below 2^40");

/* Sorts by the lowest ten bits, then stably by the next ten, and so on. An even number of passes
 * ends in the array it began in. */
static void radix_sort(uint64_t *numbers, uint64_t *other, size_t count)
{
    static_assert(RADIX_PASSES % 2 == 0, "the result must end where it began");
    for (unsigned shift = 0; shift < RADIX_PASSES * RADIX_BITS; shift += RADIX_BITS) {
        size_t places[RADIX] = {0};
        for (size_t i = 0; i < count; i++)
            places[numbers[i] >> shift & (RADIX - 1)]++;
        size_t before = 0;
        for (unsigned value = 0; value < RADIX; value++) {
            size_t with_value = places[value];
            places[value] = before;
            before += with_value;
        }
        for (size_t i = 0; i < count; i++)
            other[places[numbers[i] >> shift & (RADIX - 1)]++] = numbers[i];
        uint64_t *swapped = numbers;
        numbers = other;
        other = swapped;
    }
}

static bool sorted_list_fill(struct sorted_list *list, struct tool_digits keys,
                             struct tool_meter *meter)
{
    const uint64_t bytes = (uint64_t)keys.count * sizeof(uint64_t);
    uint64_t *numbers = tool_meter_allocate(meter, bytes, 64);
    uint64_t *other = tool_meter_allocate(meter, bytes, 64);
    const bool enough = numbers != NULL && other != NULL;
    if (enough) {
        for (size_t i = 0; i < keys.count; i++)
            numbers[i] = tool_key_number(tool_key_at(keys, i));
        radix_sort(numbers, other, keys.count);
        for (size_t i = 0; i < keys.count; i++)
            key_write(list->text + i * TOOL_DIGITS, numbers[i]);
    }
    tool_meter_release(meter, numbers, bytes);
    tool_meter_release(meter, other, bytes);
    return enough;
}

static void *sorted_list_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                              bool *told)
{
    (void)rate;
    (void)told;
    struct sorted_list *list = tool_meter_allocate(meter, sizeof(*list), 64);
    if (list == NULL)
        return NULL;
    list->count = keys.count;
    list->text = tool_meter_allocate(meter, (uint64_t)keys.count * TOOL_DIGITS, 64);
    if (list->text == NULL || !sorted_list_fill(list, keys, meter)) {
        sorted_list_release(list, meter);
        return NULL;
    }
    return list;
}

/* The string as a number that compares as the string does. */
static unsigned __int128 string_order(const char *key)
{
    uint64_t head;
    uint32_t tail;
    memcpy(&head, key, sizeof(head));
    memcpy(&tail, key + sizeof(head), sizeof(tail));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    head = __builtin_bswap64(head);
    tail = __builtin_bswap32(tail);
#endif
    return (unsigned __int128)head << 32 | tail;
}

/* Sixty-four binary searches in step. All have the same lengths to halve, so each step is a choice
 * without a branch. The string that comes next can be fetched for all of them. */
static uint64_t sorted_list_query_portion(const void *set, const char *keys, size_t count)
{
    const struct sorted_list *list = set;
    unsigned __int128 wanted[TOOL_PORTION];
    const char *base[TOOL_PORTION];
    for (size_t i = 0; i < count; i++) {
        wanted[i] = string_order(keys + i * TOOL_DIGITS);
        base[i] = list->text;
    }
    for (size_t length = list->count; length > 1;) {
        const size_t half = length / 2;
        length -= half;
        for (size_t i = 0; i < count; i++) {
            const char *middle = base[i] + half * TOOL_DIGITS;
            const size_t right = string_order(middle) <= wanted[i];
            base[i] += half * TOOL_DIGITS * right;
            __builtin_prefetch(base[i] + length / 2 * TOOL_DIGITS);
        }
    }
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)(string_order(base[i]) == wanted[i]) << i;
    return answers;
}

static void sorted_list_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    tool_query_by_portions(set, keys, answers, sorted_list_query_portion);
}

const struct tool_structure tool_sorted_list = {
    .name = "sorted",
    .title = "sorted list",
    .exact = true,
    .make = sorted_list_make,
    .release = sorted_list_release,
    .query = sorted_list_query,
};

/* ---- Set of 64-bit integers ------------------------------------------------------------------ */

struct integer_set {
    uint64_t *slots; /* 0: empty, else the number + 1 */
    uint64_t slot_count;
};

static void integer_set_release(void *set, struct tool_meter *meter)
{
    struct integer_set *integers = set;
    tool_meter_release(meter, integers->slots, integers->slot_count * sizeof(uint64_t));
    tool_meter_release(meter, integers, sizeof(*integers));
}

/* The entries of these keys' slots, and the beginning of the search for each. */
static void integer_set_begin(const struct integer_set *integers, const char *keys, size_t count,
                              uint64_t *entries, uint64_t *slots)
{
    for (size_t i = 0; i < count; i++) {
        entries[i] = tool_key_number(keys + i * TOOL_DIGITS) + 1;
        slots[i] = tool_scale(tool_mix64(entries[i] * TOOL_GOLDEN), integers->slot_count);
        tool_fetch_slots(integers->slots, slots[i], sizeof(uint64_t));
    }
}

/* The slot that holds this entry or is the empty one where it belongs. */
static uint64_t integer_set_find(const struct integer_set *integers, uint64_t slot, uint64_t entry)
{
    while (integers->slots[slot] != 0 && integers->slots[slot] != entry)
        slot = tool_next_slot(slot, integers->slot_count);
    return slot;
}

static void integer_set_add(void *set, const char *keys, size_t count)
{
    struct integer_set *integers = set;
    uint64_t entries[TOOL_PORTION];
    uint64_t slots[TOOL_PORTION];
    integer_set_begin(integers, keys, count, entries, slots);
    for (size_t i = 0; i < count; i++)
        integers->slots[integer_set_find(integers, slots[i], entries[i])] = entries[i];
}

static uint64_t integer_set_query_portion(const void *set, const char *keys, size_t count)
{
    const struct integer_set *integers = set;
    uint64_t entries[TOOL_PORTION];
    uint64_t slots[TOOL_PORTION];
    integer_set_begin(integers, keys, count, entries, slots);
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t slot = integer_set_find(integers, slots[i], entries[i]);
        answers |= (uint64_t)(integers->slots[slot] != 0) << i;
    }
    return answers;
}

static void *integer_set_make(struct tool_digits keys, double rate, struct tool_meter *meter,
                              bool *told)
{
    (void)rate;
    (void)told;
    struct integer_set *integers = tool_meter_allocate(meter, sizeof(*integers), 64);
    if (integers == NULL)
        return NULL;
    integers->slot_count = tool_slots_for(keys.count);
    integers->slots = tool_meter_allocate(meter, integers->slot_count * sizeof(uint64_t), 64);
    if (integers->slots == NULL) {
        integer_set_release(integers, meter);
        return NULL;
    }
    tool_add_by_portions(integers, keys, integer_set_add);
    return integers;
}

static void integer_set_query(const void *set, struct tool_digits keys, uint64_t *answers)
{
    tool_query_by_portions(set, keys, answers, integer_set_query_portion);
}

const struct tool_structure tool_integer_set = {
    .name = "integers",
    .title = "set of 64-bit integers",
    .exact = true,
    .make = integer_set_make,
    .release = integer_set_release,
    .query = integer_set_query,
};
