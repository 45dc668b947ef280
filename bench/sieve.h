/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of the sieve share: the URLs, the order in which they are pushed, how the
 * outcome is checked, and what a process has taken.
 *
 * URLs are a one-to-one function of their number, about 50 bytes: a host and a path, one of 64 by
 * the number's hash, and mix64(number) in 16 hexadecimal digits. So a billion distinct ones take no
 * memory, and the number of one that came out of a queue can be read from it.
 *
 * A stream pushes the numbers 0 to urls - 1 in order, each for the first time when its turn comes,
 * and `repeats` ones again after each, on average: some of the last RECENT, others from all that
 * were pushed before. Real crawls have about nine repeated URLs to a new one, most of them of
 * pages seen lately.
 *
 * What came out is compared with what must come out without storing either: a tally has the count
 * and three sums of the numbers' hashes. Two different sets of equal tally would be a coincidence
 * of 2^-64 and less.
 */
#ifndef BLOOMERY_BENCH_SIEVE_H
#define BLOOMERY_BENCH_SIEVE_H

#include <bloomery/bloomery.h>

#include <stdio.h>

enum { SIEVE_URL_MAX = 64, SIEVE_CHUNK = 1024, SIEVE_RECENT = 50000 };

/* Writes the URL of a number; the bytes written, at most SIEVE_URL_MAX. */
size_t sieve_url(uint64_t number, char *to);
/* The number of a URL; false where it is none. */
bool sieve_url_number(bloomery_key url, uint64_t *number);

struct sieve_stream {
    uint64_t urls;
    double repeats;
    double recent; /* share of the repeats that are of the last RECENT */
    uint64_t fresh;
    uint64_t pushed;
    double due; /* repeats that are to come */
    uint64_t random;
};

/* How many pushes the stream has. */
uint64_t sieve_stream_pushes(const struct sieve_stream *stream);
/* Up to SIEVE_CHUNK URLs and their numbers. 0: the end. */
struct sieve_chunk {
    size_t count;
    uint64_t bytes; /* of the URLs */
    uint64_t first; /* the number from which on they are new */
    uint64_t numbers[SIEVE_CHUNK];
    bloomery_key keys[SIEVE_CHUNK];
    char text[SIEVE_CHUNK * SIEVE_URL_MAX];
};
size_t sieve_stream_next(struct sieve_stream *stream, struct sieve_chunk *chunk);

struct sieve_tally {
    uint64_t count;
    uint64_t sums[3];
};
void sieve_tally_add(struct sieve_tally *tally, uint64_t number);
/* That of the numbers 0 to count - 1. */
struct sieve_tally sieve_tally_of(uint64_t count);
bool sieve_tally_equal(const struct sieve_tally *left, const struct sieve_tally *right);

/* 12 decimal digits, one-to-one up to 10^12. */
enum { SIEVE_ID_BYTES = 12 };
void sieve_id(uint64_t number, char *to);

/* ---- The process ----------------------------------------------------------------------------- */

struct sieve_process {
    uint64_t peak;      /* VmHWM: everything, code and mapped files too */
    uint64_t anonymous; /* of what is there now, what no file stands behind */
    uint64_t read;      /* by system calls; what is read of a mapped file does not count */
    uint64_t written;
    uint64_t disk_read; /* from and to the device, the page cache in between */
    uint64_t disk_written;
};
struct sieve_process sieve_process_now(void);
/* Of all files in a directory, as blocks on the disk. */
uint64_t sieve_directory_bytes(const char *path);

double sieve_seconds(void);
void sieve_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* 1e6, 10M, 18MB; K, M, G are powers of 1000. */
uint64_t sieve_number(const char *text);
/* Of arguments the first is the name of what is measured. The value of `--name`, or `otherwise`;
 * ends the program where it is the last one. */
const char *sieve_option(int argc, char **argv, const char *name, const char *otherwise);
bool sieve_flag(int argc, char **argv, const char *name);
/* Ends the program on arguments that are none of the names, which end with NULL; those that take a
 * value begin with '='. */
void sieve_check_arguments(int argc, char **argv, const char *const *names);
/* Opens what --json names, or NULL. */
FILE *sieve_json(int argc, char **argv);

/* The memory engine and what it is compared with: sieve_memory.c. */
int sieve_memory(int argc, char **argv);

#endif
