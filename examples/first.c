/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest whole program: make a filter, add, query, save.
 *
 *     first FILE KEY...
 *
 * Adds each KEY and prints what it finds of them, and of one that was never added.
 *
 * Introduces: bloomery_plan_solve, _create, _add, _may_contain, _save, _free; errors.
 */
#include <bloomery/bloomery.h>

#include <stdio.h>
#include <string.h>

static int fail(const bloomery_error *error)
{
    fprintf(stderr, "first: %s\n", error->text);
    return 2;
}

int main(int argc, char **argv)
{
    bloomery_plan plan = {.keys = 1000, .rate = 0.001};
    bloomery_filter *filter = NULL;
    bloomery_error error;

    if (argc < 2) {
        fputs("usage: first FILE KEY...\n", stderr);
        return 2;
    }
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK ||
        bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK)
        return fail(&error);
    for (int i = 2; i < argc; i++) {
        const int found = bloomery_add(filter, bloomery_key_of(argv[i], strlen(argv[i])), NULL);
        printf("%s: %s\n", argv[i], found == BLOOMERY_NEW ? "new" : "seen before");
    }
    static const char absent[] = "never added";
    const bool found = bloomery_may_contain(filter, bloomery_key_of(absent, strlen(absent)));
    printf("%s: %s\n", absent, found ? "possibly there" : "definitely not there");

    const bloomery_status status = bloomery_save(filter, argv[1], &error);
    bloomery_free(filter);
    return status == BLOOMERY_OK ? 0 : fail(&error);
}
