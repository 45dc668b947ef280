/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded before the library (LD_PRELOAD), this makes its batch queries lie, so that the tests can
 * see whether the command notices. BLOOMERY_LIAR says how: "forget" turns every 1,000th yes into a
 * no, "invent" answers yes to every hundredth key.
 */
#include <bloomery/bloomery.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { FORGET_EVERY = 1000, INVENT_EVERY = 100 };

typedef bloomery_status (*query_keys)(const bloomery_filter *filter, const bloomery_keys *keys,
                                      uint64_t *answers, bloomery_counts *counts,
                                      bloomery_error *error);

static query_keys find_real(void)
{
    query_keys real;
    void *symbol = dlsym(RTLD_NEXT, "bloomery_may_contain_keys");
    if (symbol == NULL)
        abort();
    memcpy(&real, &symbol, sizeof(real)); /* the standard knows no cast for this */
    return real;
}

bloomery_status bloomery_may_contain_keys(const bloomery_filter *filter, const bloomery_keys *keys,
                                          uint64_t *answers, bloomery_counts *counts,
                                          bloomery_error *error)
{
    static uint64_t queried;
    const char *how = getenv("BLOOMERY_LIAR");
    uint64_t *own = calloc(keys->count / 64 + 1, sizeof(*own));
    bloomery_counts found;
    if (own == NULL || how == NULL)
        abort();
    const bloomery_status status = find_real()(filter, keys, own, &found, error);
    for (size_t i = 0; i < keys->count; i++) {
        const uint64_t bit = UINT64_C(1) << i % 64;
        const bool member = (own[i / 64] & bit) != 0;
        uint64_t place = 0;
        if (strcmp(how, "invent") == 0 || member)
            place = __atomic_add_fetch(&queried, 1, __ATOMIC_RELAXED);
        if (strcmp(how, "forget") == 0 && place != 0 && place % FORGET_EVERY == 0) {
            own[i / 64] &= ~bit;
            found.positive--;
        } else if (strcmp(how, "invent") == 0 && place % INVENT_EVERY == 0 && !member) {
            own[i / 64] |= bit;
            found.positive++;
        }
    }
    if (answers != NULL)
        memcpy(answers, own, (keys->count + 63) / 64 * sizeof(*own));
    if (counts != NULL)
        *counts = found;
    free(own);
    return status;
}
