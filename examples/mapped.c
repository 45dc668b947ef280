/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries a filter's file without reading it: it is mapped, so opening takes microseconds whatever
 * its size, and all processes that map it share its memory.
 *
 *     mapped FILE < keys
 *
 * Prints the lines that are possibly in the filter, as `bloomery query` does.
 *
 * Introduces: bloomery_map, _may_contain_keys, _info_get.
 */
#include <bloomery/bloomery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 512, LINE_MAX_BYTES = 1000 };

static char lines[BATCH][LINE_MAX_BYTES];

/* Batches are quicker than single keys: the memory accesses of one key hide behind the others'. */
static void query(const bloomery_filter *filter, const bloomery_key *list, size_t count)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    uint64_t answers[BATCH / 64];
    bloomery_may_contain_keys(filter, &keys, answers, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        if (answers[i / 64] >> (i % 64) & 1)
            printf("%s\n", lines[i]);
}

int main(int argc, char **argv)
{
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_key list[BATCH];
    size_t count = 0;

    if (argc != 2) {
        fputs("usage: mapped FILE < keys\n", stderr);
        return 2;
    }
    if (bloomery_map(argv[1], NULL, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "mapped: %s\n", error.text);
        return 2;
    }
    while (fgets(lines[count], LINE_MAX_BYTES, stdin) != NULL) {
        const size_t bytes = strcspn(lines[count], "\n");
        lines[count][bytes] = '\0';
        list[count] = bloomery_key_of(lines[count], bytes);
        if (++count == BATCH) {
            query(filter, list, count);
            count = 0;
        }
    }
    query(filter, list, count);

    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    fprintf(stderr, "%s, %llu bytes, mapped: %s\n", bloomery_kind_name((int)info.kind),
            (unsigned long long)info.bytes, info.mapped ? "yes" : "no");
    bloomery_free(filter);
    return 0;
}
