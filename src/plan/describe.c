/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/describe.h"

#include <math.h>
#include <stdio.h>

const char *bloomery_phrase_rate(struct bloomery_phrase *phrase, double rate)
{
    if (!(rate > 0))
        snprintf(phrase->text, sizeof phrase->text, "0");
    else if (rate < 1e-300) /* of a subnormal number 1 / rate is infinite */
        snprintf(phrase->text, sizeof phrase->text, "less than 1 in 1e+300");
    else if (rate < 1e-15) /* digits past those that a double has, and past the room there is */
        snprintf(phrase->text, sizeof phrase->text, "1 in %.3g", 1 / rate);
    else if (rate < 0.1)
        snprintf(phrase->text, sizeof phrase->text, "1 in %.0f", round(1 / rate));
    else if (rate > 0.9999)
        snprintf(phrase->text, sizeof phrase->text, "over 99.99 %%");
    else
        snprintf(phrase->text, sizeof phrase->text, "%d.%d %%", (int)(rate * 1000) / 10,
                 (int)(rate * 1000) % 10);
    return phrase->text;
}

const char *bloomery_phrase_bytes(struct bloomery_phrase *phrase, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    uint64_t unit = 1024;
    unsigned i = 0;
    if (bytes < 10240) {
        snprintf(phrase->text, sizeof phrase->text, "%llu bytes", (unsigned long long)bytes);
        return phrase->text;
    }
    while (i < 3 && bytes / 1024 >= unit) {
        unit *= 1024;
        i++;
    }
    uint64_t hundredths = (uint64_t)ceil((double)bytes * 100 / (double)unit);
    snprintf(phrase->text, sizeof phrase->text, "%llu.%02llu %s",
             (unsigned long long)(hundredths / 100), (unsigned long long)(hundredths % 100),
             units[i]);
    return phrase->text;
}
