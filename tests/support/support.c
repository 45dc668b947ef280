/* SPDX-License-Identifier: Apache-2.0 */
/* See support.h. */
#define BLOOMERY_EXPERIMENTAL
#include "support.h"

#include <bloomery/experimental.h>

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Numbers from a seed ------------------------------------------------------------- */

uint64_t test_mix(uint64_t value)
{
    /* Multiplications by odd numbers and xor-shifts: each step can be undone. */
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93u;
    return value ^ (value >> 32);
}

uint64_t test_next(uint64_t *state)
{
    *state += 0x632be59bd9b4e019u;
    return test_mix(*state);
}

uint64_t test_below(uint64_t *state, uint64_t limit)
{
    assert_true(limit > 0);
    return (uint64_t)(((unsigned __int128)test_next(state) * limit) >> 64);
}

bool test_long(void)
{
    const char *wish = getenv("BLOOMERY_TEST_LONG");
    return wish != NULL && wish[0] != '\0' && strcmp(wish, "0") != 0;
}

void test_choose(void)
{
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
}

enum test_level_verdict test_level_of(const char *wanted, const char *in_use)
{
    static const char *const names[] = {"avx2", "avx512", "neon"};
    if (wanted == NULL || wanted[0] == '\0' || strcmp(wanted, in_use) == 0)
        return TEST_LEVEL_RUNS;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(wanted, names[i]) == 0 && strcmp(in_use, "scalar") == 0)
            return TEST_LEVEL_SKIPS;
    return TEST_LEVEL_FAILS;
}

void test_level(void)
{
    enum { SKIPPED = 77 }; /* to Meson */
    const char *wanted = getenv("BLOOMERY_CPU");
    bloomery_filter *filter = bloomery_new(1000, 0.01, NULL);
    bloomery_info info = BLOOMERY_INFO;
    if (filter == NULL) {
        printf("# no filter can be made\n");
        exit(1);
    }
    bloomery_info_get(filter, &info);
    bloomery_free(filter);
    printf("# kernels: %s\n", info.kernel);
    fflush(stdout); /* or what forks says it again */
    enum test_level_verdict verdict = test_level_of(wanted, info.kernel);
    if (verdict == TEST_LEVEL_RUNS)
        return;
    printf("# BLOOMERY_CPU is %s, and this %s\n", wanted,
           verdict == TEST_LEVEL_SKIPS ? "machine has no such level" : "is not what it chose");
    exit(verdict == TEST_LEVEL_SKIPS ? SKIPPED : 1);
}

const char *test_emulator(void)
{
    const char *wrapper = getenv("BLOOMERY_EMULATOR");
    return wrapper != NULL && wrapper[0] != '\0' ? wrapper : NULL;
}

bool test_keyed(void)
{
#ifdef BLOOMERY_TEST_NO_SODIUM
    return false;
#else
    return true;
#endif
}

double test_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Keys ---------------------------------------------------------------------------- */

const char *const test_family_names[TEST_FAMILIES] = {"random", "decimal", "little", "big",
                                                      "ids",    "urls",    "words"};

/* Decimal digits, at least `width` of them. */
static size_t put_number(uint8_t *to, uint64_t number, unsigned width)
{
    uint8_t reverse[20];
    unsigned digits = 0;
    while (number > 0 || digits < width) {
        reverse[digits++] = (uint8_t)('0' + number % 10);
        number /= 10;
    }
    for (unsigned i = 0; i < digits; i++)
        to[i] = reverse[digits - 1 - i];
    return digits;
}

static size_t put_text(uint8_t *to, const char *text)
{
    size_t length = strlen(text);
    memcpy(to, text, length);
    return length;
}

static size_t random_key(uint64_t seed, uint64_t index, uint8_t *bytes)
{
    uint64_t word = test_mix(index ^ seed);
    size_t length = 8 + word % 17;
    memcpy(bytes, &word, 8); /* a bijection of the index: this part alone makes it distinct */
    for (size_t i = 8; i < length; i += 8) {
        word = test_mix(word + i);
        memcpy(bytes + i, &word, 8);
    }
    return length;
}

static size_t id_key(uint64_t seed, uint64_t index, uint8_t *bytes)
{
    /* 36 000 dates, 4 century digits, 10 000 serials; the multiplier shares no factor with them. */
    const uint64_t count = (uint64_t)36000 * 4 * 10000;
    uint64_t number = (index * 614889782588491411u % count + seed % count) % count;
    uint64_t serial = number % 10000;
    uint64_t century = number / 10000 % 4;
    uint64_t date = number / 40000;
    size_t length = put_number(bytes, date / 360, 2);
    length += put_number(bytes + length, date / 30 % 12 + 1, 2);
    length += put_number(bytes + length, date % 30 + 1, 2);
    length += put_number(bytes + length, century + 3, 1);
    length += put_number(bytes + length, serial, 4);
    unsigned sum = 0;
    for (size_t i = 0; i < 11; i++)
        sum += (unsigned)(bytes[i] - '0') * (unsigned)(i + 1);
    bytes[length++] = (uint8_t)('0' + sum % 11 % 10);
    return length;
}

static size_t url_key(uint64_t index, uint8_t *bytes)
{
    static const char *const parts[] = {"news", "shop", "forum", "wiki"};
    size_t length = put_text(bytes, "https://www.example.org/");
    length += put_text(bytes + length, parts[index % 4]);
    length += put_text(bytes + length, "/item.html?page=");
    return length + put_number(bytes + length, index / 4, 1);
}

static size_t word_key(uint64_t index, uint8_t *bytes)
{
    static const char consonants[] = "bcdfghjklmnprstvz";
    static const char vowels[] = "aeiou";
    const uint64_t syllables = 17 * 5;
    size_t length = 0;
    /* Digits 1 to 85 instead of 0 to 84: no two numbers are written alike. */
    for (uint64_t rest = index + 1; rest > 0; rest = (rest - 1) / syllables) {
        uint64_t syllable = (rest - 1) % syllables;
        bytes[length++] = (uint8_t)consonants[syllable / 5];
        bytes[length++] = (uint8_t)vowels[syllable % 5];
    }
    return length;
}

size_t test_key(enum test_family family, uint64_t seed, uint64_t index,
                uint8_t bytes[TEST_SECRET_BYTES])
{
    uint64_t number = index + (seed << 32);
    switch (family) {
    case TEST_RANDOM:
        return random_key(seed, index, bytes);
    case TEST_DECIMAL:
        return put_number(bytes, number + 1000000, 1);
    case TEST_LITTLE:
    case TEST_BIG:
        for (unsigned i = 0; i < 8; i++)
            bytes[family == TEST_LITTLE ? i : 7 - i] = (uint8_t)(number >> (8 * i));
        return 8;
    case TEST_IDS:
        return id_key(seed, index, bytes);
    case TEST_URLS:
        return url_key(number, bytes);
    case TEST_WORDS:
        return word_key(number, bytes);
    case TEST_FAMILIES:
        break;
    }
    fail_msg("no such family");
    return 0;
}

struct test_keys test_keys_make(enum test_family family, uint64_t seed, uint64_t first,
                                size_t count)
{
    struct test_keys made = {.count = count};
    size_t room = 0;
    size_t used = 0;
    size_t *starts = malloc((count + 1) * sizeof *starts);
    made.keys = malloc((count + 1) * sizeof *made.keys);
    assert_true(starts != NULL && made.keys != NULL);
    for (size_t i = 0; i < count; i++) {
        if (room - used < TEST_SECRET_BYTES) {
            room = room * 2 + 4096;
            made.bytes = realloc(made.bytes, room);
            assert_non_null(made.bytes);
        }
        starts[i] = used;
        made.keys[i].bytes = test_key(family, seed, first + i, made.bytes + used);
        assert_true(made.keys[i].bytes <= TEST_SECRET_BYTES);
        used += made.keys[i].bytes;
    }
    for (size_t i = 0; i < count; i++)
        made.keys[i].data = made.bytes + starts[i];
    free(starts);
    return made;
}

void test_keys_free(struct test_keys *keys)
{
    free(keys->keys);
    free(keys->bytes);
    memset(keys, 0, sizeof *keys);
}

/* ---- Shapes -------------------------------------------------------------------------- */

const struct test_shape test_shapes[TEST_SHAPES] = {
    {"classic", BLOOMERY_CLASSIC, 0, 1},    {"blocked1", BLOOMERY_BLOCKED, 1, 1},
    {"blocked2", BLOOMERY_BLOCKED, 2, 1},   {"blocked3", BLOOMERY_BLOCKED, 3, 1},
    {"counting2", BLOOMERY_COUNTING, 2, 4}, {"counting1-bytes", BLOOMERY_COUNTING, 1, 8},
    {"blocked4", BLOOMERY_BLOCKED, 4, 1},
};

static bloomery_plan solve_plan(const struct test_shape *shape, uint64_t keys, double rate)
{
    bloomery_plan plan = {.kind = shape->kind, .keys = keys, .rate = rate};
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    bloomery_error error;
    options.blocks_per_key = shape->blocks_per_key;
    options.cell_bits = shape->cell_bits;
    if (bloomery_plan_solve(&plan, &options, &error) != BLOOMERY_OK)
        fail_msg("%s, %llu keys: %s", shape->name, (unsigned long long)keys, error.text);
    assert_true(plan.planned_rate <= rate && plan.rate == rate && plan.keys == keys);
    return plan;
}

/* Solving small plans costs more than using them: the same wish is solved once. */
bloomery_plan test_plan(const struct test_shape *shape, uint64_t keys, double rate)
{
    static struct {
        const struct test_shape *shape;
        uint64_t keys;
        double rate;
        bloomery_plan plan;
    } known[512];
    static size_t count;
    for (size_t i = 0; i < count; i++)
        if (known[i].shape == shape && known[i].keys == keys && known[i].rate == rate)
            return known[i].plan;
    bloomery_plan plan = solve_plan(shape, keys, rate);
    if (count < sizeof known / sizeof known[0]) {
        known[count].shape = shape;
        known[count].keys = keys;
        known[count].rate = rate;
        known[count++].plan = plan;
    }
    return plan;
}

bloomery_plan test_by_hand(const bloomery_plan *plan, uint64_t bits)
{
    bloomery_plan other = {.kind = plan->kind,
                           .blocks_per_key = plan->blocks_per_key,
                           .probes = plan->probes,
                           .cell_bits = plan->cell_bits,
                           .hash = plan->hash,
                           .bits = bits,
                           .planned_keys = plan->planned_keys};
    other.planned_rate = bloomery_plan_rate(&other, other.planned_keys);
    return other;
}

bloomery_filter *test_create(const bloomery_plan *plan, const bloomery_create_options *options)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_create(plan, options, &filter, &error) != BLOOMERY_OK)
        fail_msg("create: %s", error.text);
    assert_non_null(filter);
    return filter;
}

void test_add_all(bloomery_filter *filter, const struct test_keys *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        int result = add_outcome(filter, keys->keys[i]);
        assert_true(result == WAS_NEW || result == WAS_SEEN);
    }
}

uint64_t test_cells(const bloomery_filter *filter)
{
    const bloomery_info info = info_of(filter);
    uint64_t used = 0;
    for (uint32_t layer = 0; layer < info.layers; layer++) {
        const void *data = NULL;
        uint64_t bytes = 0;
        assert_int_equal(bloomery_layer_span(filter, layer, &data, &bytes), BLOOMERY_OK);
        for (uint64_t i = 0; i < bytes; i++) {
            const uint8_t byte = ((const uint8_t *)data)[i];
            if (info.cell_bits == 1)
                used += (uint64_t)__builtin_popcount(byte);
            else if (info.cell_bits == 4)
                used += (uint64_t)((byte & 15) != 0) + (byte >> 4 != 0);
            else
                used += byte != 0;
        }
    }
    return used;
}

/* ---- Bytes --------------------------------------------------------------------------- */

static struct test_bytes bytes_make(size_t bytes)
{
    struct test_bytes made = {.bytes = bytes};
    size_t room = (bytes + 127) / 64 * 64;
    made.data = aligned_alloc(64, room);
    assert_non_null(made.data);
    memset(made.data, 0xee, room);
    return made;
}

/* Fills the span that an info promised; more than that stops the writing. */
struct span {
    struct test_bytes bytes;
    size_t used;
};

static int append(void *context, const void *data, size_t bytes)
{
    struct span *span = context;
    if (bytes > span->bytes.bytes - span->used)
        return 1;
    memcpy(span->bytes.data + span->used, data, bytes);
    span->used += bytes;
    return 0;
}

struct test_bytes test_written(const bloomery_filter *filter)
{
    struct span span = {bytes_make(info_of(filter).file_bytes), 0};
    bloomery_error error;
    if (bloomery_write(filter, append, &span, &error) != BLOOMERY_OK)
        fail_msg("write: %s", error.text);
    assert_int_equal(span.used, info_of(filter).file_bytes);
    return span.bytes;
}

struct test_bytes test_copy_bytes(const void *data, size_t bytes)
{
    struct test_bytes made = bytes_make(bytes);
    if (bytes > 0)
        memcpy(made.data, data, bytes);
    return made;
}

struct test_bytes test_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("cannot read %s", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long bytes = ftell(file);
    assert_true(bytes >= 0);
    rewind(file);
    struct test_bytes made = bytes_make((size_t)bytes);
    assert_int_equal(fread(made.data, 1, (size_t)bytes, file), bytes);
    fclose(file);
    return made;
}

void test_write_file(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail_msg("cannot write %s", path);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

void test_bytes_free(struct test_bytes *bytes)
{
    free(bytes->data);
    memset(bytes, 0, sizeof *bytes);
}

bool test_bytes_equal(const struct test_bytes *one, const struct test_bytes *other)
{
    return one->bytes == other->bytes && memcmp(one->data, other->data, one->bytes) == 0;
}

void test_assert_same_for(const char *name, const bloomery_filter *one,
                          const bloomery_filter *other)
{
    struct test_bytes first = test_written(one);
    struct test_bytes second = test_written(other);
    if (!test_bytes_equal(&first, &second))
        fail_msg("%s: the bytes differ", name);
    test_bytes_free(&first);
    test_bytes_free(&second);
}

void test_assert_same(const bloomery_filter *one, const bloomery_filter *other)
{
    test_assert_same_for("two filters", one, other);
}

uint64_t test_load_u64(const uint8_t *from)
{
    uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | from[i];
    return value;
}

void test_store_u64(uint8_t *to, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

struct test_fence test_fence_make(const void *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = (bytes + page - 1) / page * page;
    struct test_fence fence = {.bytes = bytes, .map_bytes = pages + page};
    fence.map =
        mmap(NULL, fence.map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(fence.map != MAP_FAILED);
    fence.data = (uint8_t *)fence.map + pages - bytes;
    if (bytes > 0)
        memcpy(fence.data, data, bytes);
    assert_int_equal(mprotect((uint8_t *)fence.map + pages, page, PROT_NONE), 0);
    return fence;
}

void test_fence_free(struct test_fence *fence)
{
    munmap(fence->map, fence->map_bytes);
    memset(fence, 0, sizeof *fence);
}

/* ---- Directories --------------------------------------------------------------------- */

struct test_directory test_directory_make(void)
{
    struct test_directory directory;
    const char *parent = getenv("TMPDIR");
    int length = snprintf(directory.path, sizeof directory.path, "%s/bloomery-test-XXXXXX",
                          parent != NULL && parent[0] == '/' ? parent : "/tmp");
    assert_true(length > 0 && (size_t)length < sizeof directory.path);
    assert_non_null(mkdtemp(directory.path));
    return directory;
}

void test_join(char *text, size_t size, const struct test_directory *directory, const char *name)
{
    int length = snprintf(text, size, "%s/%s", directory->path, name);
    assert_true(length > 0 && (size_t)length < size);
}

unsigned test_directory_entries(const struct test_directory *directory)
{
    DIR *open_directory = opendir(directory->path);
    unsigned entries = 0;
    assert_non_null(open_directory);
    for (struct dirent *entry; (entry = readdir(open_directory)) != NULL;)
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(open_directory);
    return entries;
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

void test_directory_remove(const struct test_directory *directory)
{
    test_remove(directory->path);
}

void test_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int test_wait(pid_t child)
{
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- Memory -------------------------------------------------------------------------- */

/* Kept before each block, so that a release can be compared with its request. */
struct block_note {
    uint64_t mark;
    size_t bytes;
    size_t alignment;
    void *start;
};

static const uint64_t block_mark = 0x8d1f6b0a5c2e9374u;

static void *count_allocate(void *context, size_t bytes, size_t alignment)
{
    struct test_memory *memory = context;
    memory->requests++;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 2u << 20 || bytes == 0)
        memory->wrong = true;
    if (memory->requests == memory->refuse_at || bytes > (size_t)1 << 40)
        return NULL;
    size_t align = alignment < 64 ? 64 : alignment;
    uint8_t *start = NULL;
    if (posix_memalign((void **)&start, align, align + bytes) != 0)
        return NULL;
    uint8_t *block = start + align;
    struct block_note *note = (struct block_note *)(void *)block - 1;
    *note = (struct block_note){block_mark, bytes, alignment, start};
    memset(block, 0xa5, bytes); /* "the contents may be anything" */
    memory->live++;
    memory->bytes += bytes;
    return block;
}

static void count_release(void *context, void *block, size_t bytes, size_t alignment)
{
    struct test_memory *memory = context;
    struct block_note *note = (struct block_note *)block - 1;
    if (note->mark != block_mark || note->bytes != bytes || note->alignment != alignment) {
        memory->wrong = true;
        return;
    }
    note->mark = 0;
    memory->live--;
    memory->bytes -= bytes;
    memset(block, 0x5a, bytes);
    free(note->start);
}

bloomery_allocator test_allocator(struct test_memory *memory)
{
    return (bloomery_allocator){count_allocate, count_release, memory, NULL};
}
