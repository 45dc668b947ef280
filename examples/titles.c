/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Titles that came before, whatever their case, punctuation and blanks.
 *
 *     titles < list        prints each title the first time only
 *
 * What makes two titles equal is the program's to say: here letters and digits count, in lower
 * case. The filter sees only what is left.
 *
 * Introduces: keys of one's own making; a filter that must not grow past a limit of memory.
 */
#include <bloomery/bloomery.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

static size_t normalise(const char *title, char *key, size_t room)
{
    size_t bytes = 0;
    for (; *title != '\0' && bytes < room; title++)
        if (isalnum((unsigned char)*title) || (unsigned char)*title > 127)
            key[bytes++] = (char)tolower((unsigned char)*title);
    return bytes;
}

int main(void)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 1000, .rate = 1e-6};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    char *line = NULL, key[1000];
    size_t room = 0;

    options.memory_limit = 1 << 20;
    if (bloomery_create(&plan, &options, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "titles: %s\n", error.text);
        return 2;
    }
    int code = 0;
    while (code == 0 && getline(&line, &room, stdin) > 0) {
        const bloomery_key title = bloomery_key_of(key, normalise(line, key, sizeof(key)));
        if (bloomery_add(filter, title, &error)) {
            fputs(line, stdout);
        } else if (error.status != BLOOMERY_OK) {
            /* BLOOMERY_FULL: a megabyte has room for some 128,000 titles */
            fprintf(stderr, "titles: %s\n", error.text);
            code = 2;
        }
    }
    free(line);
    bloomery_free(filter);
    return code;
}
