/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many different visitors an access log has, in one pass and little memory.
 *
 *     visitors < access.log
 *
 * A visitor is the first word of a line. The filter grows, so their number need not be known. What
 * it counts as new misses about one visitor in 10,000; the estimate from the bits is independent of
 * that, and both are printed.
 *
 * Introduces: scalable filters, bloomery_scan, estimated_keys.
 */
#include <bloomery/bloomery.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 10000, .rate = 1e-4};
    bloomery_filter *filter = NULL;
    bloomery_error error;
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    unsigned long long lines = 0, visitors = 0;

    if (bloomery_create(&plan, NULL, &filter, &error) != BLOOMERY_OK) {
        fprintf(stderr, "visitors: %s\n", error.text);
        return 2;
    }
    while ((bytes = getline(&line, &room, stdin)) > 0) {
        const bloomery_key visitor = bloomery_key_of(line, strcspn(line, " \n"));
        if (bloomery_add(filter, visitor, &error)) {
            visitors++;
        } else if (error.status != BLOOMERY_OK) {
            fprintf(stderr, "visitors: %s\n", error.text);
            return 2;
        }
        lines++;
    }
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &info);
    bloomery_scan(filter, &scan);
    printf("%llu lines, %llu visitors (about %.0f by the bits), %llu bytes\n", lines, visitors,
           scan.estimated_keys, (unsigned long long)info.bytes);
    free(line);
    bloomery_free(filter);
    return 0;
}
