/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest whole program: make a filter, add, query, save, free.
 *
 *     first FILE KEY...
 *
 * Adds each KEY and prints whether it is new. Queries a key that was never added.
 *
 * Introduces: bloomery_new, _add, _may_contain, _save, _free; errors.
 */
#include <bloomery/bloomery.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *text)
{
    fprintf(stderr, "first: %s\n", text);
    return 2;
}

int main(int argc, char **argv)
{
    bloomery_error error;

    if (argc < 2)
        return fail("usage: first FILE KEY...");
    bloomery_filter *filter = bloomery_new(1000, 0.001, &error);
    if (filter == NULL)
        return fail(error.text);
    for (int i = 2; i < argc; i++) {
        const bool is_new = bloomery_add(filter, bloomery_key_of(argv[i], strlen(argv[i])), NULL);
        printf("%s: %s\n", argv[i], is_new ? "new" : "seen before");
    }
    const bool found = bloomery_may_contain(filter, bloomery_key_of("never added", 11));
    printf("never added: %s\n", found ? "possibly there" : "definitely not there");
    const bloomery_status status = bloomery_save(filter, argv[1], &error);
    bloomery_free(filter);
    return status == BLOOMERY_OK ? 0 : fail(error.text);
}
