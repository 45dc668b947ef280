/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/sieve-peers: what else tells new URLs from seen ones, under the load of bench/sieve.
 *
 *     sieve-peers set    [--urls 1M] [--repeats 0] [--recent 0.8] [--json FILE]
 *     sieve-peers lmdb   --directory D [--memory 64MB] [as above]
 *     sieve-peers sqlite --directory D [--memory 64MB] [as above]
 *     sieve-peers keys   [--urls 1M] [--repeats 0] [--recent 0.8]
 *     sieve-peers list
 *
 * set      a hash set of strings (sieve_set.h): in memory, and gone with the process
 * lmdb     the URL is the key, its value is empty; MDB_NOOVERWRITE. What its map has in memory
 *          counts as memory of the process, and --memory cannot bound it: the system takes it back
 *          if others need it
 * sqlite   seen(url TEXT PRIMARY KEY) WITHOUT ROWID, INSERT OR IGNORE, a write-ahead log,
 *          synchronous=NORMAL; its page cache has what --memory leaves
 * keys     writes the stream as lines to stdout, for sort -u
 * list     the names of the peers that were built
 *
 * LMDB and SQLite commit once a second, as the sieve does. They answer at once, and have no queue.
 * Exit 1 if a peer calls a URL new that was seen, or seen that was new.
 */
#include "sieve.h"
#include "sieve_set.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifdef BLOOMERY_HAVE_LMDB
#include <lmdb.h>
#endif
#ifdef BLOOMERY_HAVE_SQLITE
#include <sqlite3.h>
#endif

struct peer {
    const char *name;
    bool kept; /* survives a kill */
    void (*open)(const char *directory, uint64_t memory);
    bool (*add)(bloomery_key key); /* whether it was new */
    void (*commit)(void);
    void (*close)(void);
};

static struct sieve_chunk chunk;

static void nothing(void)
{
}

/* ---- A hash set ------------------------------------------------------------------------------ */

static struct sieve_set set;

static void set_open(const char *directory, uint64_t memory)
{
    (void)directory;
    (void)memory;
    sieve_set_make(&set, 1 << 16);
}

static bool set_add(bloomery_key key)
{
    return sieve_set_add(&set, key);
}

static void set_close(void)
{
    sieve_set_free(&set);
}

/* ---- LMDB ------------------------------------------------------------------------------------ */

#ifdef BLOOMERY_HAVE_LMDB
static struct {
    MDB_env *environment;
    MDB_txn *transaction;
    MDB_dbi table;
} lmdb;

static void lmdb_must(int status)
{
    if (status != 0)
        sieve_fail("LMDB: %s", mdb_strerror(status));
}

static void lmdb_begin(void)
{
    lmdb_must(mdb_txn_begin(lmdb.environment, NULL, 0, &lmdb.transaction));
}

static void lmdb_open(const char *directory, uint64_t memory)
{
    (void)memory;
    lmdb_must(mdb_env_create(&lmdb.environment));
    /* As much address space as the largest run may need. */
    lmdb_must(mdb_env_set_mapsize(lmdb.environment, (size_t)1 << 38));
    lmdb_must(mdb_env_open(lmdb.environment, directory, MDB_NORDAHEAD, 0644));
    lmdb_begin();
    lmdb_must(mdb_dbi_open(lmdb.transaction, NULL, 0, &lmdb.table));
}

static bool lmdb_add(bloomery_key key)
{
    /* LMDB reads the key, though its type has no const. */
    MDB_val name = {key.bytes, (void *)(uintptr_t)key.data};
    MDB_val empty = {0, NULL};
    const int status = mdb_put(lmdb.transaction, lmdb.table, &name, &empty, MDB_NOOVERWRITE);
    if (status != MDB_KEYEXIST)
        lmdb_must(status);
    return status == 0;
}

static void lmdb_commit(void)
{
    lmdb_must(mdb_txn_commit(lmdb.transaction));
    lmdb_begin();
}

static void lmdb_close(void)
{
    lmdb_must(mdb_txn_commit(lmdb.transaction));
    mdb_env_close(lmdb.environment);
}
#endif

/* ---- SQLite ---------------------------------------------------------------------------------- */

#ifdef BLOOMERY_HAVE_SQLITE
static struct {
    sqlite3 *database;
    sqlite3_stmt *insert;
} sqlite;

static void sqlite_must(bool good)
{
    if (!good)
        sieve_fail("SQLite: %s", sqlite3_errmsg(sqlite.database));
}

static void sqlite_run(const char *text)
{
    sqlite_must(sqlite3_exec(sqlite.database, text, NULL, NULL, NULL) == SQLITE_OK);
}

static void sqlite_open(const char *directory, uint64_t memory)
{
    char text[PATH_MAX];
    const uint64_t taken = sieve_process_now().peak + 2000000;
    snprintf(text, sizeof text, "%s/seen.sqlite", directory);
    sqlite_must(sqlite3_open(text, &sqlite.database) == SQLITE_OK);
    sqlite_run("PRAGMA journal_mode=WAL");
    sqlite_run("PRAGMA synchronous=NORMAL");
    /* Negative: KiB. */
    snprintf(text, sizeof text, "PRAGMA cache_size=-%" PRIu64,
             (memory > taken ? memory - taken : 1 << 20) >> 10);
    sqlite_run(text);
    sqlite_run("CREATE TABLE seen(url TEXT PRIMARY KEY) WITHOUT ROWID");
    sqlite_run("BEGIN");
    sqlite_must(sqlite3_prepare_v2(sqlite.database, "INSERT OR IGNORE INTO seen VALUES(?)", -1,
                                   &sqlite.insert, NULL) == SQLITE_OK);
}

static bool sqlite_add(bloomery_key key)
{
    sqlite_must(sqlite3_bind_text(sqlite.insert, 1, key.data, (int)key.bytes, SQLITE_STATIC) ==
                SQLITE_OK);
    sqlite_must(sqlite3_step(sqlite.insert) == SQLITE_DONE);
    sqlite3_reset(sqlite.insert);
    return sqlite3_changes(sqlite.database) > 0;
}

static void sqlite_commit(void)
{
    sqlite_run("COMMIT");
    sqlite_run("BEGIN");
}

static void sqlite_close(void)
{
    sqlite_run("COMMIT");
    sqlite3_finalize(sqlite.insert);
    sqlite_must(sqlite3_close(sqlite.database) == SQLITE_OK);
}
#endif

/* ---- A run ----------------------------------------------------------------------------------- */

static const struct peer peers[] = {
    {"set", false, set_open, set_add, nothing, set_close},
#ifdef BLOOMERY_HAVE_LMDB
    {"lmdb", true, lmdb_open, lmdb_add, lmdb_commit, lmdb_close},
#endif
#ifdef BLOOMERY_HAVE_SQLITE
    {"sqlite", true, sqlite_open, sqlite_add, sqlite_commit, sqlite_close},
#endif
};

static struct sieve_stream stream_of(int argc, char **argv)
{
    struct sieve_stream stream = {0};
    stream.urls = sieve_number(sieve_option(argc, argv, "--urls", "1M"));
    stream.repeats = strtod(sieve_option(argc, argv, "--repeats", "0"), NULL);
    stream.recent = strtod(sieve_option(argc, argv, "--recent", "0.8"), NULL);
    return stream;
}

static int write_keys(struct sieve_stream stream)
{
    while (sieve_stream_next(&stream, &chunk) > 0)
        for (size_t i = 0; i < chunk.count; i++) {
            fwrite(chunk.keys[i].data, 1, chunk.keys[i].bytes, stdout);
            putchar('\n');
        }
    return fflush(stdout) == 0 ? 0 : 2;
}

/* How many were new; `wrong` becomes how many answers were not those of an exact set. */
static uint64_t push_all(const struct peer *peer, struct sieve_stream stream, uint64_t *wrong)
{
    uint64_t found = 0;
    double committed = sieve_seconds();
    while (sieve_stream_next(&stream, &chunk) > 0) {
        uint64_t next = chunk.first;
        for (size_t i = 0; i < chunk.count; i++) {
            const bool fresh = chunk.numbers[i] == next;
            const bool answer = peer->add(chunk.keys[i]);
            next += fresh;
            found += answer;
            *wrong += answer != fresh;
        }
        if (sieve_seconds() - committed >= 1) {
            peer->commit();
            committed = sieve_seconds();
        }
    }
    return found;
}

static void write_row(FILE *json, const struct peer *peer, const struct sieve_stream *stream,
                      double seconds, uint64_t found, uint64_t wrong, uint64_t disk)
{
    const struct sieve_process process = sieve_process_now();
    const uint64_t pushes = sieve_stream_pushes(stream);
    printf("%-6s %" PRIu64 " pushes, %" PRIu64 " new, %" PRIu64 " wrong: %.3f M/s; peak %" PRIu64
           " (without files %" PRIu64 "), disk %" PRIu64 "\n",
           peer->name, pushes, found, wrong, (double)pushes / seconds * 1e-6, process.peak,
           process.anonymous, disk);
    if (json == NULL)
        return;
    fprintf(json,
            "{\"name\": \"%s\", \"urls\": %" PRIu64 ", \"pushes\": %" PRIu64
            ", \"seconds\": %.3f, \"found\": %" PRIu64
            ", \"exact\": %s, \"kept\": %s, \"peak\": %" PRIu64 ", \"anonymous\": %" PRIu64
            ", \"disk\": %" PRIu64 ", \"disk_read\": %" PRIu64 ", \"disk_written\": %" PRIu64 "}\n",
            peer->name, stream->urls, pushes, seconds, found, wrong == 0 ? "true" : "false",
            peer->kept ? "true" : "false", process.peak, process.anonymous, disk, process.disk_read,
            process.disk_written);
    if (fclose(json) != 0)
        sieve_fail("cannot write the row");
}

static int run(const struct peer *peer, int argc, char **argv)
{
    const char *directory = sieve_option(argc, argv, "--directory", NULL);
    const uint64_t memory = sieve_number(sieve_option(argc, argv, "--memory", "64MB"));
    const struct sieve_stream stream = stream_of(argc, argv);
    uint64_t wrong = 0;
    if (peer->kept && (directory == NULL || (mkdir(directory, 0777) != 0 && errno != EEXIST)))
        sieve_fail("--directory says where, and can be made");
    const double begin = sieve_seconds();
    peer->open(directory, memory);
    const uint64_t found = push_all(peer, stream, &wrong);
    peer->commit();
    const double seconds = sieve_seconds() - begin;
    write_row(sieve_json(argc, argv), peer, &stream, seconds, found, wrong,
              peer->kept ? sieve_directory_bytes(directory) : 0);
    peer->close();
    return wrong == 0 && found == stream.urls ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"=--directory", "=--urls", "=--repeats", "=--recent",
                                        "=--memory",    "=--json", NULL};
    if (argc < 2)
        sieve_fail("set, lmdb, sqlite, keys or list");
    sieve_check_arguments(argc - 1, argv + 1, names);
    if (strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
            puts(peers[i].name);
        return 0;
    }
    if (strcmp(argv[1], "keys") == 0)
        return write_keys(stream_of(argc - 1, argv + 1));
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(argv[1], peers[i].name) == 0)
            return run(&peers[i], argc - 1, argv + 1);
    sieve_fail("no peer is called %s here", argv[1]);
}
