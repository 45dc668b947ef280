/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the golden files of golden.h in a directory, and prints the digests that belong there. By
 * hand, and only until the format's version 2 is released:
 *
 *     cc -Iinclude tests/vectors/make_golden.c -lbloomery -o make_golden && ./make_golden
 * tests/vectors
 *
 * Build: no test; built by nothing but this command.
 */
#include "golden.h"

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        return 2;
    }
    for (size_t i = 0; i < GOLDENS; i++) {
        bloomery_filter *filter = NULL;
        bloomery_error error;
        char path[4096];
        golden_path(&goldens[i], arguments[1], path, sizeof path);
        if (golden_make(&goldens[i], &filter, &error) != BLOOMERY_OK ||
            bloomery_save(filter, path, &error) != BLOOMERY_OK) {
            fprintf(stderr, "%s: %s\n", path, error.text);
            return 2;
        }
        printf("%-20s .absent_digest = 0x%016llx\n", goldens[i].name,
               (unsigned long long)golden_digest(filter));
        bloomery_free(filter);
    }
    bloomery_filter *cuckoo = NULL;
    bloomery_error error;
    char path[4096];
    snprintf(path, sizeof path, "%s/golden-v2-cuckoo.bloom", arguments[1]);
    if (golden_cuckoo_make(&cuckoo, &error) != BLOOMERY_OK ||
        bloomery_save(cuckoo, path, &error) != BLOOMERY_OK) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        return 2;
    }
    printf("%-20s GOLDEN_CUCKOO_DIGEST 0x%016llx\n", "cuckoo",
           (unsigned long long)golden_digest(cuckoo));
    bloomery_free(cuckoo);
    const bloomery_filter *filter = NULL;
    snprintf(path, sizeof path, "%s/golden-v2-static.bloom", arguments[1]);
    if (golden_static_make(&filter, &error) != BLOOMERY_OK ||
        bloomery_save(filter, path, &error) != BLOOMERY_OK) {
        fprintf(stderr, "%s: %s\n", path, error.text);
        return 2;
    }
    printf("%-20s GOLDEN_STATIC_DIGEST 0x%016llx\n", "static",
           (unsigned long long)golden_digest(filter));
    bloomery_free(filter);
    return 0;
}
