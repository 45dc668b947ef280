/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a filter that Guava has written (BloomFilter.writeTo), adds to it, and writes it back for
 * Guava's readFrom.
 *
 *     guava FILE KEY...       the file is made, for 1,000 keys at 1 %, if it does not exist
 *
 * Introduces: bloomery_dialect_find, _dialect_create, _dialect_load, _dialect_save.
 */
#include <bloomery/dialect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *text)
{
    fprintf(stderr, "guava: %s\n", text);
    return 2;
}

/* The bytes of a file; NULL if it can't be read. */
static unsigned char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    unsigned char *data = NULL;
    if (file == NULL)
        return NULL;
    if (fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        data = size >= 0 ? malloc((size_t)size + 1) : NULL;
        rewind(file);
        if (data != NULL)
            *bytes = fread(data, 1, (size_t)size, file);
    }
    fclose(file);
    return data;
}

int main(int argc, char **argv)
{
    const bloomery_dialect *guava = bloomery_dialect_find("guava");
    bloomery_dialect_parameters wanted = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    size_t bytes = 0;

    if (argc < 2)
        return fail("usage: guava FILE KEY...");
    unsigned char *data = read_file(argv[1], &bytes);
    bloomery_status status;
    if (data != NULL) {
        status = bloomery_dialect_load(guava, data, bytes, NULL, NULL, &filter, &error);
    } else {
        wanted.keys = 1000;
        wanted.rate = 0.01;
        status = bloomery_dialect_create(guava, &wanted, NULL, &filter, &error);
    }
    free(data);
    if (status != BLOOMERY_OK)
        return fail(error.text);
    for (int i = 2; i < argc; i++) {
        const bloomery_key key = bloomery_key_of(argv[i], strlen(argv[i]));
        printf("%s: %s\n", argv[i], bloomery_add(filter, key, NULL) ? "new" : "seen");
    }
    status = bloomery_dialect_save(filter, guava, argv[1], &error);
    bloomery_free(filter);
    return status == BLOOMERY_OK ? 0 : fail(error.text);
}
