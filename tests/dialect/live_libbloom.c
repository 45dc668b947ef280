/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbloom itself, where its library is installed, on a string: a line in, a line out. Bytes are in
 * hexadecimal, "-" where there are none.
 *
 *     create ENTRIES RATE    bits, bytes and probes; "no" where it refuses
 *     add KEY...             a digit for each: 1 new, 0 seen
 *     ask KEY...             a digit for each: 1 possibly, 0 definitely not
 *     bits                   the bitmap
 *     version
 */
#include <bloom.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bloom filter;
static int created;

static void fail(const char *why)
{
    fprintf(stderr, "live_libbloom: %s\n", why);
    exit(2);
}

/* Bytes of a word, written over it. */
static int key_of(char *word)
{
    int bytes = 0;
    if (strcmp(word, "-") == 0)
        return 0;
    for (const char *digits = word; digits[0] != 0 && digits[1] != 0; digits += 2) {
        const char two[] = {digits[0], digits[1], 0};
        word[bytes++] = (char)strtoul(two, NULL, 16);
    }
    return bytes;
}

static void create(void)
{
    const char *entries = strtok(NULL, " \n");
    const char *rate = strtok(NULL, " \n");
    if (rate == NULL)
        fail("entries and a rate are missing");
    if (created)
        bloom_free(&filter);
    created = bloom_init(&filter, (int)strtol(entries, NULL, 10), strtod(rate, NULL)) == 0;
    if (created)
        printf("%d %d %d", filter.bits, filter.bytes, filter.hashes);
    else
        printf("no");
}

static void obey(const char *verb)
{
    if (strcmp(verb, "version") == 0)
        printf("%s", bloom_version());
    else if (strcmp(verb, "create") == 0)
        create();
    else if (!created)
        fail("no filter was made");
    else if (strcmp(verb, "add") == 0 || strcmp(verb, "ask") == 0)
        for (char *word; (word = strtok(NULL, " \n")) != NULL;) {
            const int bytes = key_of(word);
            const int known = verb[1] == 'd' ? bloom_add(&filter, word, bytes)
                                             : bloom_check(&filter, word, bytes);
            printf("%d", verb[1] == 'd' ? known == 0 : known == 1);
        }
    else if (strcmp(verb, "bits") == 0)
        for (int i = 0; i < filter.bytes; i++)
            printf("%02x", filter.bf[i]);
    else
        fail("no such command");
    printf("\n");
    fflush(stdout);
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0)
        obey(strtok(line, " \n"));
    free(line);
    if (created)
        bloom_free(&filter);
    return 0;
}
