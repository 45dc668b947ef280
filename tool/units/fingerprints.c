/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table with open addressing whose slots are fingerprints; 0 is an empty slot.
 *
 *     home(f) = f * slots >> 64         (f: the fingerprint, its upper half if it has two)
 *
 *     slots   0            home(f)                              slots      slots + tail
 *             |  .  .  a  b  c  f  .  .  .  .  .  .  .  .  .  g  |  h  .  .  .  |
 *                       ^-- cluster --^                          the tail
 *
 * A fingerprint stands in its home or, if that is taken, in the next free slot behind it. Homes
 * rise with fingerprints, so no search needs more than one walk to the right. The walks of the last
 * homes end in the tail, and do not wrap around to the front. At most three quarters of the
 * slots are taken. So the walk for a new key is 8.5 slots long on average: with 64 bits that is one
 * cache line and often the next. Cache lines are fetched WINDOW keys ahead, so that the memory's
 * latency is waited for once in many keys.
 *
 * The table grows where it stands. The system gives it more pages behind its end (mremap, which
 * moves no byte). Then every cluster is taken out and put back by its new homes, from the last one
 * to the first. With s <= s' slots a home only moves to the right: f * s' >> 64 >= f * s >> 64. So
 * an entry in [a, b) comes to a or later. It moves over slots that have been dealt with, never over
 * those that have not. Both sweeps run through memory in order. No second table exists at any time,
 * so a budget of memory can be used to its end. Doubling costs about as much as copying.
 *
 * The tail is TAIL slots long, more than the longest cluster among billions of honest hashes. It is
 * made longer if it does not suffice. Deliberate collisions make this slow, as they do in every
 * table whose hash has no secret. More slots need no longer tail. With s' for s, the fingerprints
 * whose homes are in the last part of the slots have more room there. As many are behind the end as
 * before, or one more by rounding.
 */
#include "units/fingerprints.h"

#include "base/bits.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TAIL = 1024,
    WINDOW = 32,           /* keys whose cache lines are on their way */
    START_BYTES = 1 << 20, /* of a set for an unknown number */
};

struct tool_fingerprints {
    uint64_t *words;      /* a slot is one word or two */
    uint64_t slots, tail; /* slots + tail of them */
    uint64_t count, most; /* taken, and how many may be */
    uint64_t limit;       /* bytes; 0: none */
    uint32_t width;       /* words of a slot */
    bool zero;            /* the fingerprint 0, which no slot can hold, is in the set */
};

/* ---- Sizes ----------------------------------------------------------------------------------- */

static uint64_t max_of(uint64_t slots)
{
    return slots / 4 * 3;
}

static uint64_t bytes_of(uint32_t width, uint64_t slots, uint64_t tail)
{
    uint64_t all, bytes;
    if (__builtin_add_overflow(slots, tail, &all) ||
        __builtin_mul_overflow(all, width * sizeof(uint64_t), &bytes))
        return UINT64_MAX;
    return bytes;
}

/* The slots for a number of keys; UINT64_MAX for too many. */
static uint64_t slots_for(uint64_t keys)
{
    uint64_t slots;
    if (__builtin_mul_overflow(keys / 3 + 1, 4, &slots))
        return UINT64_MAX;
    return slots;
}

uint64_t tool_fingerprints_bytes_for(uint32_t bits, uint64_t keys)
{
    assert(bits == 64 || bits == 128);
    return bytes_of(bits / 64, slots_for(keys), TAIL);
}

uint64_t tool_fingerprints_count(const struct tool_fingerprints *set)
{
    return set->count + set->zero;
}

uint64_t tool_fingerprints_bytes(const struct tool_fingerprints *set)
{
    return bytes_of(set->width, set->slots, set->tail);
}

double tool_fingerprints_drops(uint32_t bits, uint64_t before, uint64_t after)
{
    double scale = bits == 64 ? 0x1p-65 : 0x1p-129;
    return ((double)after * (double)after - (double)before * (double)before) * scale;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

struct tool_fingerprints *tool_fingerprints_new(uint32_t bits, uint64_t keys, uint64_t memory_limit)
{
    assert(bits == 64 || bits == 128);
    const uint32_t width = bits / 64;
    uint64_t slots = keys > 0 ? slots_for(keys) : START_BYTES / sizeof(uint64_t) / width - TAIL;
    uint64_t bytes = bytes_of(width, slots, TAIL);
    if (memory_limit > 0 && bytes > memory_limit && keys == 0) {
        slots = memory_limit / sizeof(uint64_t) / width;
        slots = slots > (uint64_t)2 * TAIL ? slots - TAIL : TAIL;
        bytes = bytes_of(width, slots, TAIL);
    }
    if (bytes >= SIZE_MAX / 2 || (memory_limit > 0 && bytes > memory_limit))
        return NULL;
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* a wish: it may be refused */
    struct tool_fingerprints *set = malloc(sizeof(*set));
    if (set == NULL) {
        munmap(memory, (size_t)bytes);
        return NULL;
    }
    *set = (struct tool_fingerprints){
        .words = memory, .slots = slots, .tail = TAIL, .most = max_of(slots), .width = width};
    set->limit = memory_limit;
    assert(set->most >= keys);
    return set;
}

void tool_fingerprints_free(struct tool_fingerprints *set)
{
    if (set == NULL)
        return;
    munmap(set->words, (size_t)tool_fingerprints_bytes(set));
    free(set);
}

/* ---- Slots ----------------------------------------------------------------------------------- */

/* The bits of a hash that are compared. */
struct fingerprint {
    uint64_t high, low;
};

static inline bool is_taken(const uint64_t *slot, uint32_t width)
{
    return width == 1 ? slot[0] != 0 : (slot[0] | slot[1]) != 0;
}

static inline uint64_t home_of(const struct tool_fingerprints *set, uint64_t high)
{
    return (uint64_t)((unsigned __int128)high * set->slots >> 64);
}

static inline uint64_t *slot_at(const struct tool_fingerprints *set, uint64_t index, uint32_t width)
{
    assert(index < set->slots + set->tail);
    return set->words + index * width;
}

/* The slot of this fingerprint, or the free one in which it would have to go; NULL behind the
 * last. */
static inline uint64_t *find(const struct tool_fingerprints *set, struct fingerprint print,
                             uint32_t width)
{
    uint64_t *slot = slot_at(set, home_of(set, print.high), width);
    const uint64_t *end = set->words + (set->slots + set->tail) * width;
    while (is_taken(slot, width) &&
           !(slot[0] == print.high && (width == 1 || slot[1] == print.low))) {
        slot += width;
        if (slot == end)
            return NULL;
    }
    return slot;
}

static inline void put(uint64_t *slot, struct fingerprint print, uint32_t width)
{
    slot[0] = print.high;
    if (width == 2)
        slot[1] = print.low;
}

/* ---- Growing --------------------------------------------------------------------------------- */

/* The slots of the longest cluster. */
static uint64_t longest_cluster(const struct tool_fingerprints *set)
{
    uint64_t longest = 0, length = 0;
    for (uint64_t i = 0; i < set->slots + set->tail; i++) {
        length = is_taken(slot_at(set, i, set->width), set->width) ? length + 1 : 0;
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Takes everything in slots [0, end) out, the last cluster first, and puts it where it belongs now.
 * `taken` has room for the longest cluster. */
static void move_all(struct tool_fingerprints *set, uint64_t end, struct fingerprint *taken)
{
    uint64_t moved = 0;
    const uint32_t width = set->width;
    while (end > 0) {
        uint64_t begin = end; /* the first slot of the cluster that ends there */
        while (begin > 0 && is_taken(slot_at(set, begin - 1, width), width))
            begin--;
        const uint64_t length = end - begin;
        for (uint64_t i = 0; i < length; i++) {
            const uint64_t *slot = slot_at(set, begin + i, width);
            taken[i] = (struct fingerprint){slot[0], width == 2 ? slot[1] : 0};
        }
        if (length > 0)
            memset(slot_at(set, begin, width), 0, (size_t)(length * width) * sizeof(uint64_t));
        for (uint64_t i = 0; i < length; i++) {
            uint64_t *slot = find(set, taken[i], width);
            assert(slot != NULL && !is_taken(slot, width));
            assert(slot >= set->words + begin * width);
            put(slot, taken[i], width);
        }
        moved += length;
        end = begin > 0 ? begin - 1 : 0; /* the slot before a cluster is free */
    }
    assert(moved == set->count);
    (void)moved;
}

/* Requests more memory; the new end is empty. False if there is none, or none allowed. */
static bool extend(struct tool_fingerprints *set, uint64_t slots, uint64_t tail)
{
    const uint64_t before = tool_fingerprints_bytes(set), bytes = bytes_of(set->width, slots, tail);
    assert(bytes >= before);
    if (bytes >= SIZE_MAX / 2 || (set->limit > 0 && bytes > set->limit))
        return false;
    void *memory = mremap(set->words, (size_t)before, (size_t)bytes, MREMAP_MAYMOVE);
    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
    set->words = memory;
    set->slots = slots;
    set->tail = tail;
    set->most = max_of(slots);
    return true;
}

static bool grow(struct tool_fingerprints *set)
{
    const uint64_t end = set->slots + set->tail;
    const uint64_t tail = set->tail + 1; /* homes are rounded down, which may cost a slot */
    uint64_t slots = set->slots <= UINT64_MAX / 4 ? 2 * set->slots : UINT64_MAX / 4;
    if (set->limit > 0 && bytes_of(set->width, slots, tail) > set->limit) {
        const uint64_t all = set->limit / sizeof(uint64_t) / set->width;
        if (all <= tail || all - tail <= set->slots + set->slots / 64)
            return false; /* as good as full: all would be moved for a few more */
        slots = all - tail;
    }
    struct fingerprint *taken = malloc((size_t)(longest_cluster(set) + 1) * sizeof(*taken));
    const bool extended = taken != NULL && extend(set, slots, tail);
    if (extended)
        move_all(set, end, taken);
    free(taken);
    return extended;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static inline struct fingerprint fingerprint_of(bloomery_hash hash, uint32_t width)
{
    return (struct fingerprint){hash.hi, width == 2 ? hash.lo : 0};
}

static inline void fetch(const struct tool_fingerprints *set, bloomery_hash hash, uint32_t width)
{
    __builtin_prefetch(set->words + home_of(set, hash.hi) * width, 1);
}

/* Adds one. Returns 1 if it is new, 0 if it was there, -1 if the table is full. */
static inline int add_one(struct tool_fingerprints *set, struct fingerprint print, uint32_t width)
{
    if (__builtin_expect((print.high | print.low) == 0, 0)) {
        bool fresh = !set->zero;
        set->zero = true;
        return fresh;
    }
    while (true) {
        uint64_t *slot = find(set, print, width);
        if (slot != NULL && is_taken(slot, width))
            return 0;
        if (slot != NULL && set->count < set->most) {
            put(slot, print, width);
            set->count++;
            return 1;
        }
        /* Behind the last slot no home begins: to lengthen the tail nothing has to move. */
        if (slot == NULL ? !extend(set, set->slots, 2 * set->tail) : !grow(set))
            return -1;
    }
}

static inline __attribute__((always_inline)) size_t add(struct tool_fingerprints *set,
                                                        const bloomery_hash *hashes, size_t count,
                                                        uint64_t *answers, uint32_t width)
{
    for (size_t i = 0; i < count && i < WINDOW; i++)
        fetch(set, hashes[i], width);
    for (size_t i = 0; i < count; i++) {
        if (i + WINDOW < count)
            fetch(set, hashes[i + WINDOW], width);
        int fresh = add_one(set, fingerprint_of(hashes[i], width), width);
        if (fresh < 0)
            return i;
        answers[i / 64] |= (uint64_t)(unsigned)fresh << i % 64;
    }
    return count;
}

size_t tool_fingerprints_add(struct tool_fingerprints *set, const bloomery_hash *hashes,
                             size_t count, uint64_t *answers)
{
    memset(answers, 0, tool_words_of(count) * sizeof(*answers));
    return set->width == 1 ? add(set, hashes, count, answers, 1)
                           : add(set, hashes, count, answers, 2);
}

static inline bool is_there(const struct tool_fingerprints *set, struct fingerprint print,
                            uint32_t width)
{
    if ((print.high | print.low) == 0)
        return set->zero;
    const uint64_t *slot = find(set, print, width);
    return slot != NULL && is_taken(slot, width);
}

void tool_fingerprints_query(const struct tool_fingerprints *set, const bloomery_hash *hashes,
                             size_t count, uint64_t *answers)
{
    const uint32_t width = set->width;
    memset(answers, 0, tool_words_of(count) * sizeof(*answers));
    for (size_t i = 0; i < count; i++) {
        if (i + WINDOW < count)
            fetch(set, hashes[i + WINDOW], width);
        if (!is_there(set, fingerprint_of(hashes[i], width), width))
            tool_bit_set(answers, i);
    }
}
