/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crawler's main loop that can be killed at any moment and goes on where it was.
 *
 *     crawler WEB DIRECTORY START [MILLISECONDS]
 *
 * Visits START and all pages that are reached from it, each once, and prints how far each is from
 * START, and the page. What there is to visit and what was seen lies in DIRECTORY: the same command
 * again goes on, or has nothing to do. So that no network is needed, the web is a file, a line for
 * each page: its address, and those that it names. MILLISECONDS are waited after each page, as a
 * polite crawler does.
 *
 * Introduces: bloomery_sieve_open, _push_batch, _pop, _ack, _commit, _close; payloads; a
 * canonicaliser.
 *
 * The order matters. A page's urls are pushed, then the page is acknowledged, then both are
 * committed together. A crash before the commit makes the page come again, and its urls with it, of
 * which those that were kept are seen. A crash after it has lost nothing. Nothing is left out, and
 * at most one batch is visited twice.
 */
#include <bloomery/sieve.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 10, URLS_MAX = 1000, DEPTH_BYTES = 12 };

static const char blanks[] = " \t\r\n";

static int fail(const char *text)
{
    fprintf(stderr, "crawler: %s\n", text);
    return 2;
}

/* "Fetches" a page: the line of the file that begins with its address becomes `line`, and the URLs
 * after the address become `urls`. Returns their number, or -1 if the file lacks the page. */
static int fetch(FILE *web, bloomery_key page, char **line, size_t *room, bloomery_key *urls)
{
    rewind(web);
    while (getline(line, room, web) >= 0) {
        char *rest = NULL;
        const char *name = strtok_r(*line, blanks, &rest);
        if (name == NULL || strlen(name) != page.bytes || memcmp(name, page.data, page.bytes) != 0)
            continue;
        int count = 0;
        while (count < URLS_MAX && (name = strtok_r(NULL, blanks, &rest)) != NULL)
            urls[count++] = bloomery_key_of(name, strlen(name));
        return count;
    }
    return -1;
}

/* Visits one page and pushes the URLs that it names. */
static bloomery_status visit(bloomery_sieve *sieve, FILE *web, const bloomery_sieve_item *item,
                             bloomery_error *error)
{
    static char *line = NULL; /* getline's, and reused for every page */
    static size_t room = 0;
    static bloomery_key urls[URLS_MAX];
    static bloomery_key payloads[URLS_MAX];
    char depth[DEPTH_BYTES] = "0";
    /* The payload is what was given with the push: how far that page was. */
    if (item->payload.bytes < sizeof depth)
        memcpy(depth, item->payload.data, item->payload.bytes);
    const int count = fetch(web, item->key, &line, &room, urls);
    printf("%s %.*s%s\n", depth, (int)item->key.bytes, (const char *)item->key.data,
           count < 0 ? " (not found)" : "");
    fflush(stdout);
    if (count <= 0)
        return BLOOMERY_OK;
    snprintf(depth, sizeof depth, "%d", atoi(depth) + 1);
    for (int i = 0; i < count; i++)
        payloads[i] = bloomery_key_of(depth, strlen(depth));
    return bloomery_sieve_push(sieve, urls, payloads, (size_t)count, BLOOMERY_SIEVE_PUSH, NULL,
                               NULL, error);
}

static bloomery_status crawl(bloomery_sieve *sieve, FILE *web, long milliseconds,
                             bloomery_error *error)
{
    bloomery_sieve_item items[BATCH];
    const struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    for (;;) {
        size_t count = 0;
        bloomery_status status =
            bloomery_sieve_pop(sieve, items, BATCH, BLOOMERY_SIEVE_POP, &count, error);
        if (status != BLOOMERY_OK || count == 0)
            return status;
        for (size_t i = 0; i < count && status == BLOOMERY_OK; i++) {
            status = visit(sieve, web, &items[i], error);
            if (status == BLOOMERY_OK)
                status = bloomery_sieve_finish(sieve, &items[i].number, 1, BLOOMERY_SIEVE_DONE,
                                               NULL, error);
            nanosleep(&pause, NULL);
        }
        if (status == BLOOMERY_OK)
            status = bloomery_sieve_commit(sieve, error);
        if (status != BLOOMERY_OK)
            return status;
    }
}

int main(int argc, char **argv)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve *sieve = NULL;
    bloomery_error error;
    if (argc < 4 || argc > 5)
        return fail("usage: crawler WEB DIRECTORY START [MILLISECONDS]");
    FILE *web = fopen(argv[1], "r");
    if (web == NULL)
        return fail("cannot open the web");
    options.directory = argv[2];
    options.canon = "url"; /* HTTP://EXAMPLE.ORG and http://example.org/#top are one page */
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        return fail(error.text);
    /* Seen, where this directory was begun before: then nothing happens. */
    const bloomery_key start = bloomery_key_of(argv[3], strlen(argv[3]));
    const bloomery_key depth = bloomery_key_of("0", 1);
    bloomery_status status =
        bloomery_sieve_push(sieve, &start, &depth, 1, BLOOMERY_SIEVE_PUSH, NULL, NULL, &error);
    if (status == BLOOMERY_OK)
        status = crawl(sieve, web, argc == 5 ? atol(argv[4]) : 0, &error);
    fclose(web);
    if (status != BLOOMERY_OK) {
        bloomery_sieve_close(sieve, NULL);
        return fail(error.text);
    }
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(sieve, &info);
    fprintf(stderr, "crawler: %llu urls, %llu pages\n", (unsigned long long)info.pushed,
            (unsigned long long)info.done);
    if (bloomery_sieve_close(sieve, &error) != BLOOMERY_OK)
        return fail(error.text);
    return 0;
}
