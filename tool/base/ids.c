/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An invented population with valid identification numbers.
 *
 * A number has twelve digits:
 *
 *     8 5 0 1 0 1   3   1 2 3 4   5
 *     birth date    |   serial    check digit
 *     YYMMDD        century and sex: 3 and 4 a man and a woman born 1900 to 1999,
 *                   5 and 6 born from 2000 on
 *
 * The check digit is the sum of the first eleven digits weighted 1 to 11, modulo 11. If that is 10,
 * the weights 3,4,5,6,7,8,9,10,11,1,2 are used instead; if that is 10 again, the serial is not
 * given out. So about 9,917 of the 10,000 serials of a day and sex exist.
 *
 * Ages and sexes follow a table of the year 2020, taken at the middle of that year. A person of age
 * a on 1 July 2020 was born from 2 July of 2019-a to 1 July of 2020-a. The ages of the table, 0 to
 * 99, make one hundred years or 36,525 days. So two digits of a year suffice to tell them all
 * apart, and with two sexes there are 73,050 slots.
 *
 * The people are lined up slot by slot and their number, the rank, decides everything:
 *
 *     ranks            come out of a pseudo-random permutation, so that the output looks shuffled
 *     rank -> slot     by cumulative counts; every group of ages and sex gets its exact share of
 *                      the population, rounded to a whole person, and every day of the group its
 *                      share of that
 *     rank -> serial   the place within the slot picks from a shuffled list of the serials that
 *                      are valid there, begun at a random point for every slot
 *
 * Each step is one-to-one, so no number repeats and none needs to be remembered. The first seven
 * digits decide which serials are valid only through their two weighted sums modulo 11. So there
 * are 121 families of slots with one list each.
 */
#include "base/ids.h"

#include "base/random.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    AGE_GROUPS = 20, /* of five years each */
    GROUP_YEARS = 5,
    SEXES = 2,
    CELLS = AGE_GROUPS * SEXES,
    SLOTS = 36525 * SEXES,
    SERIALS = 10000,
    MODULUS = 11,
    FAMILIES = MODULUS * MODULUS,
    NO_CHECK = 10, /* a weighted sum that is not a digit */
    BUCKETS_MAX = 1 << 17,
    STEPS = 2,             /* from a bucket's first slot on that are taken without a branch */
    PORTION = 512,         /* people made at once */
    REFERENCE_YEAR = 2020, /* ages are those of 1 July */
    REFERENCE_MONTH = 7,
};

/* Thousands of people, men and women, of ages 0-4, 5-9, ..., 95-99. */
static const uint16_t population[AGE_GROUPS][SEXES] = {
    {990, 930}, {1001, 947}, {825, 779}, {572, 545}, {564, 536}, {740, 733}, {815, 843},
    {666, 670}, {581, 603},  {534, 569}, {459, 519}, {485, 576}, {353, 458}, {248, 380},
    {119, 201}, {74, 159},   {64, 152},  {17, 45},   {5, 18},    {0, 3},
};

struct slot {
    char digits[7];    /* birth date, century and sex */
    uint8_t family;    /* the two weighted sums of these digits */
    uint32_t first;    /* the rank of the first person; the next slot's `first` ends it */
    uint16_t rotation; /* where in the family's list the slot begins */
};

struct tool_ids {
    uint64_t count;
    struct tool_permutation order; /* of the numbers below `order_end`, which include the ranks */
    uint64_t order_next;
    uint64_t order_end;
    unsigned bucket_shift; /* ranks of one bucket: 2^bucket_shift */
    struct slot slots[SLOTS + STEPS];
    uint32_t bucket_slot[BUCKETS_MAX + 1]; /* the slot of a bucket's first rank */
    uint8_t residue[SERIALS];              /* a serial's two weighted sums */
    char serial_digits[SERIALS][4];
    uint8_t check[FAMILIES][FAMILIES]; /* by family of the slot and residue of the serial */
    uint16_t valid_count[FAMILIES];
    uint16_t valid[FAMILIES][SERIALS]; /* the shuffled list of every family */
};

static const uint8_t weights_first[11] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const uint8_t weights_second[11] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2};

/* Both weighted sums of `count` digits that begin at position `from`, as one number below 121. */
static uint8_t weighted_sums(const char *digits, unsigned from, unsigned count)
{
    unsigned first = 0;
    unsigned second = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned digit = (unsigned)(digits[i] - '0');
        assert(digit <= 9);
        first += digit * weights_first[from + i];
        second += digit * weights_second[from + i];
    }
    return (uint8_t)(first % MODULUS * MODULUS + second % MODULUS);
}

static void write_digits(char *digits, unsigned width, unsigned value)
{
    for (unsigned i = width; i-- > 0; value /= 10)
        digits[i] = (char)('0' + value % 10);
    assert(value == 0);
}

/* ---- Shares ---------------------------------------------------------------------------------- */

static uint64_t cell_weight(unsigned cell)
{
    return population[cell / SEXES][cell % SEXES];
}

static uint64_t total_weight(void)
{
    uint64_t total = 0;
    for (unsigned cell = 0; cell < CELLS; cell++)
        total += cell_weight(cell);
    return total;
}

/* How many of `count` things fall before part `part` of `parts` equal ones. Differences of this are
 * the shares: whole numbers that add up to `count`, each within one of its exact share. `turn`, 0
 * to parts-1, decides which parts get what is left over; drawn at random, it favours none. */
static uint64_t share_before(uint64_t count, uint64_t part, uint64_t parts, uint64_t turn)
{
    assert(part <= parts && turn < parts);
    return (uint64_t)(((unsigned __int128)count * part + turn) / parts);
}

/* The fewest serials that a slot of any family has. */
static uint64_t min_valid(void)
{
    unsigned with_residue[FAMILIES] = {0};
    for (unsigned serial = 0; serial < SERIALS; serial++) {
        char digits[4];
        write_digits(digits, 4, serial);
        with_residue[weighted_sums(digits, 7, 4)]++;
    }
    /* In every family exactly one residue makes both sums 10. */
    unsigned most = 0;
    for (unsigned residue = 0; residue < FAMILIES; residue++)
        most = with_residue[residue] > most ? with_residue[residue] : most;
    assert(most > 0 && most < SERIALS);
    return SERIALS - most;
}

uint64_t tool_ids_maximum(void)
{
    /* A cell gets at most its exact share and one person more. A day of it gets at most that over
     * the days, rounded up; a group has at least 1,826 days. */
    const uint64_t room = min_valid() * 1826 - 1;
    uint64_t heaviest = 0;
    for (unsigned cell = 0; cell < CELLS; cell++)
        heaviest = cell_weight(cell) > heaviest ? cell_weight(cell) : heaviest;
    uint64_t maximum = room * total_weight() / heaviest;
    assert(maximum < UINT32_MAX); /* a rank fits struct slot */
    return maximum;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

struct date {
    unsigned year, month, day;
};

static struct date next_day(struct date date)
{
    static const uint8_t month_days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
    unsigned days = month_days[date.month - 1] + (date.month == 2 && leap ? 1u : 0u);
    date.day++;
    if (date.day > days) {
        date.day = 1;
        date.month++;
    }
    if (date.month > 12) {
        date.month = 1;
        date.year++;
    }
    return date;
}

static bool same_day(struct date a, struct date b)
{
    return a.year == b.year && a.month == b.month && a.day == b.day;
}

/* The slots of one group and sex, for the ranks from `first` on. Returns the slot after the last.
 */
static struct slot *make_cell(struct slot *slot, unsigned cell, uint64_t first, uint64_t people,
                              struct tool_random *random, const uint16_t *valid_count)
{
    const unsigned age = cell / SEXES * GROUP_YEARS;
    const struct date end = {REFERENCE_YEAR - age, REFERENCE_MONTH, 2};
    const struct date begin = {end.year - GROUP_YEARS, end.month, end.day};
    uint64_t days = 0;
    for (struct date date = begin; !same_day(date, end); date = next_day(date))
        days++;
    assert(days == 1826 || days == 1827);

    const uint64_t turn = tool_scale(tool_random_next(random), days);
    uint64_t day = 0;
    for (struct date date = begin; !same_day(date, end); date = next_day(date), day++, slot++) {
        write_digits(slot->digits, 2, date.year % 100);
        write_digits(slot->digits + 2, 2, date.month);
        write_digits(slot->digits + 4, 2, date.day);
        write_digits(slot->digits + 6, 1, (date.year < 2000 ? 3 : 5) + cell % SEXES);
        slot->family = weighted_sums(slot->digits, 0, 7);
        slot->first = (uint32_t)(first + share_before(people, day, days, turn));
        unsigned valid = valid_count[slot->family];
        slot->rotation = (uint16_t)tool_scale(tool_random_next(random), valid);
        assert(share_before(people, day + 1, days, turn) - share_before(people, day, days, turn) <=
               valid);
    }
    return slot;
}

static void make_slots(struct tool_ids *ids, uint64_t seed)
{
    struct tool_random random = tool_random_make(seed, 1);
    const uint64_t total = total_weight();
    const uint64_t turn = tool_scale(tool_random_next(&random), total);
    struct slot *slot = ids->slots;
    uint64_t weight = 0;
    for (unsigned cell = 0; cell < CELLS; cell++) {
        uint64_t first = share_before(ids->count, weight, total, turn);
        weight += cell_weight(cell);
        uint64_t people = share_before(ids->count, weight, total, turn) - first;
        slot = make_cell(slot, cell, first, people, &random, ids->valid_count);
    }
    assert(slot == ids->slots + SLOTS);
    for (unsigned step = 0; step < STEPS; step++)
        slot[step].first = (uint32_t)ids->count;
}

/* Buckets of ranks that know their first slot make finding a slot a look-up and a few steps. */
static void make_buckets(struct tool_ids *ids)
{
    while ((ids->count - 1) >> ids->bucket_shift >= BUCKETS_MAX)
        ids->bucket_shift++;
    uint32_t slot = 0;
    const uint64_t buckets = ((ids->count - 1) >> ids->bucket_shift) + 1;
    for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        while (ids->slots[slot + 1].first <= bucket << ids->bucket_shift)
            slot++;
        ids->bucket_slot[bucket] = slot;
    }
}

/* ---- Serials --------------------------------------------------------------------------------- */

static void make_serials(struct tool_ids *ids)
{
    for (unsigned serial = 0; serial < SERIALS; serial++) {
        write_digits(ids->serial_digits[serial], 4, serial);
        ids->residue[serial] = weighted_sums(ids->serial_digits[serial], 7, 4);
    }
    for (unsigned family = 0; family < FAMILIES; family++)
        for (unsigned residue = 0; residue < FAMILIES; residue++) {
            const unsigned first = (family / MODULUS + residue / MODULUS) % MODULUS;
            const unsigned second = (family % MODULUS + residue % MODULUS) % MODULUS;
            ids->check[family][residue] = (uint8_t)(first != NO_CHECK ? first : second);
        }
}

static void make_valid(struct tool_ids *ids, uint64_t seed)
{
    struct tool_random random = tool_random_make(seed, 2);
    for (unsigned family = 0; family < FAMILIES; family++) {
        uint16_t *list = ids->valid[family];
        uint16_t count = 0;
        for (unsigned serial = 0; serial < SERIALS; serial++) {
            if (ids->check[family][ids->residue[serial]] == NO_CHECK)
                continue;
            /* Fisher and Yates, inside out: the new one takes a random place, and the old one there
             * goes to the end. */
            uint64_t place = tool_scale(tool_random_next(&random), (uint64_t)count + 1);
            list[count] = list[place];
            list[place] = (uint16_t)serial;
            count++;
        }
        ids->valid_count[family] = count;
    }
}

/* ---- The population -------------------------------------------------------------------------- */

struct tool_ids *tool_ids_make(uint64_t count, uint64_t seed)
{
    assert(count > 0 && count <= tool_ids_maximum());
    struct tool_ids *ids = calloc(1, sizeof(*ids));
    if (ids == NULL)
        return NULL;
    ids->count = count;
    unsigned bits = 2;
    while ((count - 1) >> bits != 0)
        bits++;
    ids->order = tool_permutation_make(bits, seed, 0);
    ids->order_end = (uint64_t)1 << bits;
    make_serials(ids);
    make_valid(ids, seed);
    make_slots(ids, seed);
    make_buckets(ids);
    return ids;
}

void tool_ids_free(struct tool_ids *ids)
{
    free(ids);
}

/* The slot of a rank. The first steps are sums instead of branches, which would be guessed wrong
 * every other time. */
static const struct slot *slot_of(const struct tool_ids *ids, uint64_t rank)
{
    const struct slot *slot = &ids->slots[ids->bucket_slot[rank >> ids->bucket_shift]];
    unsigned steps = 0;
    for (unsigned step = 1; step <= STEPS; step++)
        steps += slot[step].first <= rank ? 1u : 0u;
    slot += steps;
    while (slot[1].first <= rank)
        slot++;
    assert(slot->first <= rank && slot < ids->slots + SLOTS);
    return slot;
}

static void write_person(const struct tool_ids *ids, uint64_t rank, char *digits)
{
    const struct slot *slot = slot_of(ids, rank);
    const unsigned valid = ids->valid_count[slot->family];
    unsigned place = slot->rotation + (unsigned)(rank - slot->first);
    place -= place >= valid ? valid : 0;
    const unsigned serial = ids->valid[slot->family][place];
    const unsigned check = ids->check[slot->family][ids->residue[serial]];
    assert(check != NO_CHECK);
    memcpy(digits, slot->digits, 7);
    memcpy(digits + 7, ids->serial_digits[serial], 4);
    digits[11] = (char)('0' + check);
}

size_t tool_ids_next(struct tool_ids *ids, size_t most, char *digits)
{
    size_t done = 0;
    while (done < most && ids->order_next < ids->order_end) {
        uint64_t ranks[PORTION];
        size_t portion = most - done < PORTION ? most - done : PORTION;
        size_t count = 0;
        while (count < portion && ids->order_next < ids->order_end) {
            ranks[count] = tool_permutation_at(&ids->order, ids->order_next++);
            count += ranks[count] < ids->count ? 1 : 0;
        }
        for (size_t i = 0; i < count; i++)
            write_person(ids, ranks[i], digits + (done + i) * TOOL_ID_DIGITS);
        done += count;
    }
    return done;
}
