/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter before a store saves the lookups of keys that are not in it.
 *
 *     slow_store
 *
 * The store is an SQLite database in memory with 20,000 of the names user 0, user 3, user 6, ...
 * All of user 0 to user 59999 are asked for, two thirds of which are absent. With the filter only
 * those that are possibly there reach the store.
 *
 * Compile with -lsqlite3 as well.
 *
 * Introduces: a filter as a guard; that it changes no answer.
 */
#include <bloomery/bloomery.h>

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 60000, EVERY = 3 };

static sqlite3 *store;
static sqlite3_stmt *lookup;
static bloomery_filter *filter;
static unsigned lookups;

static int fail(const char *text)
{
    fprintf(stderr, "slow_store: %s\n", text);
    return 2;
}

static bool is_stored(const char *name)
{
    lookups++;
    sqlite3_reset(lookup);
    sqlite3_bind_text(lookup, 1, name, -1, SQLITE_STATIC);
    return sqlite3_step(lookup) == SQLITE_ROW;
}

/* Asks for all names; how many are stored. */
static unsigned ask(bool guarded)
{
    char name[32];
    unsigned found = 0;
    lookups = 0;
    for (unsigned i = 0; i < NAMES; i++) {
        const int bytes = snprintf(name, sizeof(name), "user %u", i);
        if (guarded && !bloomery_may_contain(filter, bloomery_key_of(name, (size_t)bytes)))
            continue;
        found += is_stored(name);
    }
    return found;
}

static bool fill(void)
{
    char name[32], *text;
    for (unsigned i = 0; i < NAMES; i += EVERY) {
        const int bytes = snprintf(name, sizeof(name), "user %u", i);
        bloomery_add(filter, bloomery_key_of(name, (size_t)bytes), NULL);
        text = sqlite3_mprintf("INSERT INTO users VALUES (%Q)", name);
        const int code = sqlite3_exec(store, text, NULL, NULL, NULL);
        sqlite3_free(text);
        if (code != SQLITE_OK)
            return false;
    }
    return true;
}

int main(void)
{
    bloomery_error error;

    filter = bloomery_new(NAMES / EVERY, 0.01, &error);
    if (filter == NULL)
        return fail(error.text);
    if (sqlite3_open(":memory:", &store) != SQLITE_OK ||
        sqlite3_exec(store, "CREATE TABLE users (name TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN", NULL,
                     NULL, NULL) != SQLITE_OK ||
        !fill() ||
        sqlite3_prepare_v2(store, "SELECT 1 FROM users WHERE name = ?", -1, &lookup, NULL) !=
            SQLITE_OK)
        return fail(sqlite3_errmsg(store));
    const unsigned plain = ask(false), all = lookups;
    const unsigned guarded = ask(true), few = lookups;
    printf("without the filter: %u names found, %u lookups\n", plain, all);
    printf("with the filter:    %u names found, %u lookups\n", guarded, few);
    sqlite3_finalize(lookup);
    sqlite3_close(store);
    bloomery_free(filter);
    return plain == guarded && few < all ? 0 : 1;
}
