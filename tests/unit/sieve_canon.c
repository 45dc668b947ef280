/* SPDX-License-Identifier: Apache-2.0 */
/* URLs that are one get one form, and what is different by a hair stays different. */
#include "../support/support.h"

#include "sieve/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const names[] = {"url", "url-query"};

/* The form of a key, in memory that ends where it may: a sanitizer sees a step outside. The caller
 * frees it. */
struct form {
    uint8_t *bytes;
    size_t count; /* SIZE_MAX: the key as it is */
};

static struct form form_of(const char *name, const void *key, size_t bytes)
{
    uint8_t *copy = malloc(bytes > 0 ? bytes : 1);
    struct form form = {.bytes = malloc(bytes + 1)};
    assert_true(copy != NULL && form.bytes != NULL);
    memcpy(copy, key, bytes);
    form.count =
        bloomery_canon_find(name)(NULL, bloomery_key_of(copy, bytes), form.bytes, bytes + 1);
    assert_true(form.count == SIZE_MAX || form.count <= bytes + 1);
    if (form.count == SIZE_MAX)
        memcpy(form.bytes, key, bytes);
    free(copy);
    return form;
}

static bool is_form(const char *name, const char *key, const char *wanted)
{
    const struct form form = form_of(name, key, strlen(key));
    const bool same = wanted == NULL ? form.count == SIZE_MAX
                                     : form.count == strlen(wanted) &&
                                           memcmp(form.bytes, wanted, form.count) == 0;
    if (!same)
        print_error("%s: %s is not %s but %.*s\n", name, key, wanted ? wanted : "left alone",
                    form.count == SIZE_MAX ? 11 : (int)form.count,
                    form.count == SIZE_MAX ? "(left alone)" : (const char *)form.bytes);
    free(form.bytes);
    return same;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

/* wanted NULL: left alone. */
static const struct pair {
    const char *key;
    const char *wanted;
} pairs[] = {
    /* the example of the essay */
    {"HTTP://User:Pw@EXAMPLE.com:80/a%2fb?q=%c3%a9#top",
     "http://User:Pw@example.com/a%2Fb?q=%C3%A9"},
    /* scheme */
    {"HtTpS://h/", "https://h/"},
    {"SVN+ssh.2-x://H/P", "svn+ssh.2-x://h/P"},
    {"FILE:///C:/X", "file:///C:/X"},
    /* user */
    {"http://user:pass@H/", "http://user:pass@h/"},
    {"http://USER@H/", "http://USER@h/"},
    {"http://A:B@C@H:80/", "http://A:B@C@h/"},
    {"http://@H/", "http://@h/"},
    {"http://u:80@H", "http://u:80@h/"},
    {"http://u%3a:%7E@h/", "http://u%3A:%7E@h/"},
    {"http://h/A@B:80", "http://h/A@B:80"},
    {"http://h?A@B:80", "http://h/?A@B:80"},
    /* host */
    {"http://H", "http://h/"},
    {"http://WWW.Example.ORG./", "http://www.example.org./"},
    {"http://127.0.0.1:080/", "http://127.0.0.1/"},
    {"http://[2001:DB8::A]/", "http://[2001:db8::a]/"},
    {"http://[2001:DB8::A]:80/", "http://[2001:db8::a]/"},
    {"http://[2001:DB8::80]:8080", "http://[2001:db8::80]:8080/"},
    {"http://[FE80::1%25ETH0]:/", "http://[fe80::1%25eth0]/"},
    {"http://[::1]80/", "http://[::1]80/"},
    {"http://[::1", "http://[::1/"},
    {"http://::1:80/", "http://::1:80/"},
    {"http://h:80:80/", "http://h:80:80/"},
    {"http://B%c3%BCcher.de/", "http://b%C3%BCcher.de/"},
    {"http://B\xC3\x9C\xC3\xBC.DE/\xC3\x9C", "http://b\xC3\x9C\xC3\xBC.de/\xC3\x9C"},
    {"http://", "http:///"},
    {"http:///x", "http:///x"},
    {"http://:80/x", "http:///x"},
    {"http://:81/x", "http://:81/x"},
    /* port */
    {"http://h:80/", "http://h/"},
    {"http://h:/", "http://h/"},
    {"http://h:", "http://h/"},
    {"http://h:443/", "http://h:443/"},
    {"https://h:443", "https://h/"},
    {"https://h:80/", "https://h:80/"},
    {"FTP://h:21/", "ftp://h/"},
    {"ws://h:80/", "ws://h/"},
    {"wss://h:443/", "wss://h/"},
    {"gopher://h:70/", "gopher://h:70/"},
    {"gopher://h:/", "gopher://h/"},
    {"http://h:0080?a", "http://h/?a"},
    {"http://h:08080/", "http://h:8080/"},
    {"http://h:0/", "http://h:0/"},
    {"http://h:000/", "http://h:0/"},
    {"other://h:0/", "other://h:0/"},
    {"http://h:8a0/", "http://h:8a0/"},
    {"http://h:+80/", "http://h:+80/"},
    {"http://h:4294967376/", "http://h:4294967376/"},
    {"http://h:18446744073709551696/", "http://h:18446744073709551696/"},
    {"http://h:65616/", "http://h:65616/"},
    /* path */
    {"http://h?x", "http://h/?x"},
    {"http://h#x", "http://h/"},
    {"http://h/A/../B//C/", "http://h/A/../B//C/"},
    {"http://h/index.html", "http://h/index.html"},
    {"http://h/%7euser/%zz/%4/%", "http://h/%7Euser/%zz/%4/%"},
    {"http://h/%%41%aA%%%f", "http://h/%%41%AA%%%f"},
    {"http://h/a b\t", "http://h/a b\t"},
    {"http://h\\X/", "http://h\\x/"},
    /* query and fragment */
    {"http://h/?", "http://h/?"},
    {"http://h/?#", "http://h/?"},
    {"http://h/#", "http://h/"},
    {"http://h/#!page", "http://h/"},
    {"http://h/?a#b?c#d", "http://h/?a"},
    {"http://h/#?a", "http://h/"},
    {"http://h/?u=HTTP://H:80/%3fx", "http://h/?u=HTTP://H:80/%3Fx"},
    {"http://h/?a?b/c", "http://h/?a?b/c"},
    /* no absolute URLs */
    {"", NULL},
    {"H", NULL},
    {"example.com/A%2f", NULL},
    {"/path#x", NULL},
    {"//H/x", NULL},
    {"://H/x", NULL},
    {"http:/H", NULL},
    {"http:", NULL},
    {"http:/", NULL},
    {"mailto:A@B.C#x", NULL},
    {"1http://H/", NULL},
    {" http://H/", NULL},
    {"a b://H/", NULL},
    {"h\xC3\xA9://H/", NULL},
};

static const struct pair sorted_pairs[] = {
    {"http://h/?b=1&a=2", "http://h/?a=2&b=1"},
    {"http://h/?a=2&a=1", "http://h/?a=2&a=1"},
    {"http://h/?b&a=2&B&a=1&ab", "http://h/?B&a=2&a=1&ab&b"},
    {"http://h/?a=&a&a==", "http://h/?a=&a&a=="},
    {"http://h/?ab=1&a=2&a-=3", "http://h/?a=2&a-=3&ab=1"},
    {"http://h/?b&&a&", "http://h/?&&a&b"},
    {"http://h/?&", "http://h/?&"},
    {"http://h/?", "http://h/?"},
    {"http://h/?=2&=1&a", "http://h/?=2&=1&a"},
    {"http://h?z&y#x&w", "http://h/?y&z"},
    {"http://h/?%3b=1&%3a=2&%zz&%", "http://h/?%&%3A=2&%3B=1&%zz"},
    /* by what is written: %3A before %3Aa before %3B, in whatever case it came */
    {"http://h/?%3B&%3a&%3ba&%3Aa", "http://h/?%3A&%3Aa&%3B&%3Ba"},
    {"http://h/?\xFF=1&z=2", "http://h/?z=2&\xFF=1"},
    {"http://h/z&a?c;b&a", "http://h/z&a?a&c;b"},
    {"/?b&a", NULL},
};

static void urls_have_the_form_of_the_table(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT(pairs); i++)
        wrong += !is_form("url", pairs[i].key, pairs[i].wanted) ||
                 !is_form("url-query", pairs[i].key, pairs[i].wanted);
    assert_int_equal(wrong, 0);
}

static void parameters_are_sorted_by_name(void **state)
{
    (void)state;
    size_t wrong = 0;
    for (size_t i = 0; i < COUNT(sorted_pairs); i++)
        wrong += !is_form("url-query", sorted_pairs[i].key, sorted_pairs[i].wanted);
    assert_int_equal(wrong, 0);
    assert_true(is_form("url", "http://h?b&a", "http://h/?b&a"));
}

static void other_names_are_unknown(void **state)
{
    (void)state;
    static const char *const others[] = {"", "none", "URL", "url ", "url-", "url-query2", "query"};
    for (size_t i = 0; i < COUNT(others); i++)
        assert_null(bloomery_canon_find(others[i]));
    for (size_t i = 0; i < COUNT(names); i++)
        assert_non_null(bloomery_canon_find(names[i]));
}

/* ---- Properties ------------------------------------------------------------------------------ */

/* Made of pieces that mean something at some place. */
static size_t random_key(uint64_t *state, char *key, size_t room)
{
    static const char *const pieces[] = {
        "http", "HTTPS", "ws",  "ftp", "://",  "://", ":",  "/",   "?",    "#", "&",  "=",    "@",
        "[",    "]",     "80",  "443", "0",    "%",   "%2", "%2f", "%C3%", "a", "B",  "ab",   "%3a",
        "%3A",  "&a=",   "&B=", "h.x", "\xC3", "\n",  "\\", "..",  "+",    "-", "//", "[::1]"};
    size_t bytes = 0;
    if (test_below(state, 4) > 0) {
        static const char *const starts[] = {"http://", "https://h", "Ws://u@h:80", "x://H?"};
        const char *start = starts[test_below(state, COUNT(starts))];
        bytes = strlen(start);
        memcpy(key, start, bytes);
    }
    for (uint64_t i = test_below(state, 24); i > 0 && bytes + 8 < room; i--) {
        const char *piece = pieces[test_below(state, COUNT(pieces))];
        memcpy(key + bytes, piece, strlen(piece));
        bytes += strlen(piece);
        if (test_below(state, 40) == 0)
            key[bytes++] = (char)test_below(state, 256);
    }
    return bytes;
}

static void forms_stay_as_they_are(void **unused)
{
    (void)unused;
    uint64_t state = 6;
    char key[512];
    size_t urls = 0;
    for (size_t i = 0; i < 100000; i++) {
        const size_t bytes = random_key(&state, key, sizeof key);
        for (size_t j = 0; j < COUNT(names); j++) {
            const struct form form = form_of(names[j], key, bytes);
            if (form.count != SIZE_MAX) {
                const struct form again = form_of(names[j], form.bytes, form.count);
                if (again.count != form.count || memcmp(again.bytes, form.bytes, form.count) != 0) {
                    print_error("%s: %.*s\n", names[j], (int)bytes, key);
                    fail();
                }
                free(again.bytes);
                urls++;
            }
            free(form.bytes);
        }
    }
    assert_in_range(urls, 100000, 199999);
}

/* The sorted query by a definition that is slower: again and again the first least name. */
static void sorted_queries_are_those_of_the_definition(void **unused)
{
    (void)unused;
    uint64_t state = 7;
    for (size_t round = 0; round < 3000; round++) {
        char key[4096] = "http://h/?";
        char wanted[4096] = "http://h/?";
        char names_of[64][4];
        char texts[64][32];
        bool done[64] = {false};
        const size_t count = 1 + test_below(&state, 64);
        for (size_t i = 0; i < count; i++) {
            const char letters[] = {(char)('a' + test_below(&state, 3)),
                                    (char)('a' + test_below(&state, 3))};
            snprintf(names_of[i], sizeof names_of[i], "%.*s", (int)test_below(&state, 3), letters);
            snprintf(texts[i], sizeof texts[i], "%.3s=%zu", names_of[i], i);
            strcat(key, i > 0 ? "&" : "");
            strcat(key, texts[i]);
        }
        for (size_t i = 0; i < count; i++) {
            size_t least = count;
            for (size_t j = 0; j < count; j++)
                if (!done[j] && (least == count || strcmp(names_of[j], names_of[least]) < 0))
                    least = j;
            done[least] = true;
            strcat(wanted, i > 0 ? "&" : "");
            strcat(wanted, texts[least]);
        }
        assert_true(is_form("url-query", key, wanted));
    }
}

/* A megabyte of anything takes milliseconds; over the number of parameters that are sorted the
 * order stays. */
static void hostile_keys_take_no_time(void **unused)
{
    (void)unused;
    static const char *const pieces[] = {"&", "?", "/", "%", "@", ":", "#", "[", "&a", "%2f", "=&"};
    const size_t bytes = 1 << 20;
    char *key = malloc(bytes);
    assert_non_null(key);
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t j = 0; j < COUNT(names); j++) {
            memcpy(key, "http://h?", 9);
            for (size_t at = i % 2 ? 9 : 7; at < bytes; at++)
                key[at] = pieces[i][at % strlen(pieces[i])];
            free(form_of(names[j], key, bytes).bytes);
        }
    /* 1024 parameters whose names differ in the last byte of 1000 */
    memset(key + 9, 'x', bytes - 9);
    for (size_t at = 1024; at < bytes; at += 1024) {
        key[at] = '&';
        key[at - 1] = (char)('a' + test_mix(at) % 26);
    }
    free(form_of("url-query", key, bytes).bytes);
    free(key);
}

static void parameters_up_to_the_limit_are_sorted_and_no_more(void **unused)
{
    (void)unused;
    for (size_t count = 1023; count <= 1025; count++) {
        char *key = calloc(1, 16 + 8 * count);
        char *wanted = calloc(1, 16 + 8 * count);
        assert_true(key != NULL && wanted != NULL);
        strcpy(key, "http://h/?");
        strcpy(wanted, "http://h/?");
        for (size_t i = 0; i < count; i++) {
            sprintf(key + strlen(key), "%s%zu", i > 0 ? "&" : "", 9999 - i);
            sprintf(wanted + strlen(wanted), "%s%zu", i > 0 ? "&" : "", 9999 - (count - 1 - i));
        }
        assert_true(is_form("url-query", key, count <= 1024 ? wanted : key));
        free(key);
        free(wanted);
    }
}

/* With less room than a form may need nothing is written. */
static void too_little_room_leaves_the_key(void **unused)
{
    (void)unused;
    const char *key = "HTTP://h?x";
    uint8_t out[32];
    for (size_t j = 0; j < COUNT(names); j++)
        for (size_t room = 0; room < sizeof out; room++) {
            memset(out, 0xEE, sizeof out);
            const size_t count =
                bloomery_canon_find(names[j])(NULL, bloomery_key_of(key, 10), out, room);
            assert_true(count == (room <= 10 ? SIZE_MAX : 11));
            for (size_t i = room <= 10 ? 0 : 11; i < sizeof out; i++)
                assert_int_equal(out[i], 0xEE);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_have_the_form_of_the_table),
        cmocka_unit_test(parameters_are_sorted_by_name),
        cmocka_unit_test(other_names_are_unknown),
        cmocka_unit_test(forms_stay_as_they_are),
        cmocka_unit_test(sorted_queries_are_those_of_the_definition),
        cmocka_unit_test(hostile_keys_take_no_time),
        cmocka_unit_test(parameters_up_to_the_limit_are_sorted_and_no_more),
        cmocka_unit_test(too_little_room_leaves_the_key),
    };
    return test_run_group("sieve_canon", tests, NULL, NULL);
}
