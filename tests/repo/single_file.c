/* SPDX-License-Identifier: Apache-2.0 */
/* A program on bloomery.c and bloomery.h of scripts/amalgamate: makes a filter of the lines of
 * stdin and saves it; and, unless they are left out, Guava's filter of them, and a queue. */
#include <bloomery.h>
#include <stdio.h>
#include <string.h>

static int failed(const char *what, const bloomery_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int fill(bloomery_filter *filter, FILE *lines)
{
    char line[1000];
    rewind(lines);
    while (fgets(line, sizeof line, lines) != NULL) {
        bloomery_error error;
        if (!bloomery_add(filter, bloomery_key_of(line, strcspn(line, "\n")), &error) &&
            error.status != BLOOMERY_OK)
            return failed("add", &error);
    }
    return 0;
}

static int write_dialect(FILE *lines)
{
#ifdef BLOOMERY_NO_DIALECTS
    (void)lines;
    return 0;
#else
    bloomery_error error = {0};
    bloomery_filter *filter = NULL;
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    parameters.keys = 1000;
    parameters.rate = 0.01;
    const bloomery_dialect *guava = bloomery_dialect_find("guava");
    if (bloomery_dialect_create(guava, &parameters, NULL, &filter, &error) != BLOOMERY_OK)
        return failed("guava", &error);
    int code = fill(filter, lines);
    if (code == 0 && bloomery_dialect_save(filter, guava, "single.guava", &error) != BLOOMERY_OK)
        code = failed("single.guava", &error);
    bloomery_free(filter);
    return code;
#endif
}

static int push_and_pop(void)
{
#ifndef BLOOMERY_NO_SIEVE
    bloomery_error error = {0};
    bloomery_sieve *sieve = NULL;
    bloomery_sieve_item item;
    const bloomery_key key = bloomery_key_of("a", 1);
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    size_t count = 0;
    options.directory = "single.sieve";
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        return failed("open", &error);
    for (int i = 0; i < 2; i++)
        if (bloomery_sieve_push(sieve, &key, NULL, 1, BLOOMERY_SIEVE_PUSH, NULL, NULL, &error) !=
            BLOOMERY_OK)
            return failed("push", &error);
    if (bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &count, &error) != BLOOMERY_OK ||
        count != 1)
        return failed("pop", &error);
    if (bloomery_sieve_close(sieve, &error) != BLOOMERY_OK)
        return failed("close", &error);
#endif
    return 0;
}

int main(void)
{
    bloomery_error error = {0};
    bloomery_filter *filter = bloomery_new(1000, 0.01, &error);
    FILE *lines = fopen("lines", "r");
    if (lines == NULL || filter == NULL)
        return failed("create", &error);
    if (fill(filter, lines) != 0 || bloomery_save(filter, "single.bloom", &error) != BLOOMERY_OK)
        return failed("single.bloom", &error);
    bloomery_free(filter);
    const int code = write_dialect(lines) + push_and_pop();
    fclose(lines);
    return code;
}
