/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target as a plain test: on every file of the directories given, and on mutations of
 * them that are a function of a seed. Inputs that once broke something stay in the corpus.
 *
 *     regression MUTATIONS DIRECTORY...
 *     regression FROM-TO DIRECTORY...       the mutations FROM to TO - 1 of each file: a slice
 *
 * Build: this file with the target (load.c) and the library; no sanitizer needed, better with one.
 * Suite: fuzz. Arguments: mutations per file (40 in the quick tier, 4000 in the long one), then
 * fuzz/corpus/load, tests/vectors.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILES_MAX = 4096 };

struct input {
    uint8_t *data;
    size_t size;
};

static struct input inputs[FILES_MAX];
static size_t input_count;

static uint64_t next(uint64_t *state)
{
    *state += 0x2545f4914f6cdd1du;
    uint64_t value = *state;
    value = (value ^ (value >> 31)) * 0xd6e8feb86659fd93u;
    return value ^ (value >> 29);
}

static int read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || input_count == FILES_MAX)
        return -1;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    struct input *input = &inputs[input_count];
    input->size = size > 0 ? (size_t)size : 0;
    input->data = malloc(input->size + 1);
    if (input->data == NULL || fread(input->data, 1, input->size, file) != input->size) {
        fclose(file);
        return -1;
    }
    fclose(file);
    input_count++;
    return 0;
}

static int compare_names(const void *one, const void *other)
{
    return strcmp(*(char *const *)one, *(char *const *)other);
}

static int ends_with(const char *name, const char *end)
{
    const size_t length = strlen(name);
    return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

/* All *.bloom and *.input of a directory, by name, so that every machine runs the same
 * mutations. */
static int read_directory(const char *path)
{
    DIR *directory = opendir(path);
    char *names[FILES_MAX];
    size_t count = 0;
    int result = 0;
    if (directory == NULL)
        return -1;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL && count < FILES_MAX;) {
        if (ends_with(entry->d_name, ".bloom") || ends_with(entry->d_name, ".input"))
            names[count++] = strdup(entry->d_name);
    }
    closedir(directory);
    qsort(names, count, sizeof names[0], compare_names);
    for (size_t i = 0; i < count; i++) {
        char full[4096];
        snprintf(full, sizeof full, "%s/%s", path, names[i]);
        result |= read_file(full);
        free(names[i]);
    }
    return count > 0 ? result : -1;
}

/* One small change in place. */
static void change(uint8_t *data, size_t size, uint64_t *random)
{
    static const uint64_t values[] = {0,
                                      1,
                                      7,
                                      64,
                                      65,
                                      512,
                                      0x7fffffff,
                                      0xffffffff,
                                      1ull << 40,
                                      1ull << 50,
                                      1ull << 63,
                                      UINT64_MAX,
                                      UINT64_MAX - 63};
    if (size == 0)
        return;
    /* Mostly in the header and the records: there is where numbers are. */
    size_t reach = next(random) % 4 != 0 && size > 512 ? 512 : size;
    size_t at = next(random) % reach;
    switch (next(random) % 4) {
    case 0:
        data[at] ^= (uint8_t)(1u << (next(random) % 8));
        break;
    case 1:
        data[at] = (uint8_t)next(random);
        break;
    default: {
        size_t width = (size_t)1 << (next(random) % 4);
        uint64_t value = values[next(random) % (sizeof values / sizeof values[0])];
        at = at / width * width;
        for (size_t i = 0; i < width && at + i < size; i++)
            data[at + i] = (uint8_t)(value >> (8 * i));
    }
    }
}

static void mutate_and_run(const struct input *input, uint64_t seed)
{
    uint64_t random = seed;
    const struct input *other = &inputs[next(&random) % input_count];
    size_t size = input->size;
    uint8_t *copy = malloc(size + other->size + 64);
    if (copy == NULL)
        exit(2);
    memcpy(copy, input->data, size);
    for (uint64_t times = next(&random) % 4 + 1; times > 0; times--)
        change(copy, size, &random);
    uint64_t what = next(&random) % 8;
    if (what == 0 && size > 0) {
        size = next(&random) % size;
    } else if (what == 1) {
        size_t at = size > 0 ? next(&random) % size : 0;
        size_t from = other->size > 0 ? next(&random) % other->size : 0;
        memcpy(copy + at, other->data + from, other->size - from);
        size = at + other->size - from;
    } else if (what == 2) {
        memset(copy + size, (int)(next(&random) & 0xff), 64);
        size += next(&random) % 65;
    }
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int count, char **arguments)
{
    if (count < 3) {
        fprintf(stderr, "usage: %s MUTATIONS DIRECTORY...\n", arguments[0]);
        return 2;
    }
    char *dash;
    unsigned long from = 0;
    unsigned long to = strtoul(arguments[1], &dash, 10);
    if (*dash == '-') {
        from = to;
        to = strtoul(dash + 1, NULL, 10);
    }
    for (int i = 2; i < count; i++)
        if (read_directory(arguments[i]) != 0) {
            fprintf(stderr, "%s: no inputs there\n", arguments[i]);
            return 2;
        }
    for (size_t i = 0; i < input_count; i++) {
        LLVMFuzzerTestOneInput(inputs[i].data, inputs[i].size);
        /* Large inputs cost more and say no more. */
        const unsigned long less = inputs[i].size > 4096 ? 8 : 1;
        for (unsigned long m = from / less; m < (to + less - 1) / less; m++)
            mutate_and_run(&inputs[i], (uint64_t)i << 32 | m);
    }
    printf("%zu passed, 0 failed\n", input_count);
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].data);
    return 0;
}
