/* SPDX-License-Identifier: Apache-2.0 */
/* The keys that go into a sieve: the lines of inputs, pushed or marked (sieve_feed.c). */
#ifndef BLOOMERY_TOOL_SIEVE_FEED_H
#define BLOOMERY_TOOL_SIEVE_FEED_H

#include "base/out.h"
#include "command/sieve/sieve_command.h"
#include "key/rule.h"

struct tool_sieve_feed {
    struct tool_sieve_command *command;
    bloomery_sieve_push_mode mode;
    const char *verb; /* of the progress line */
    bool print;       /* the keys that are new, to stdout */
    int32_t payload;  /* the field that is the payload; 0: none */
    bool finds_lists; /* if an input's first line is a fingerprint, it is a requests.seen */
    /* Takes files with binary fingerprints out of the source, whose paths these are, into
     * `binaries`; NULL: there are none. */
    void (*sort_lists)(struct tool_sieve_feed *feed, char **paths);
    char **binaries; /* files of Scrapy's fingerprints, 20 bytes each, that are marked first */
    size_t binary_count;
    struct tool_source source;
    struct tool_rule_choice choice;

    /* The results. */
    bloomery_sieve_info before, after;
    uint64_t records;        /* read */
    uint64_t pushed;         /* this time */
    uint64_t durable;        /* of these; fewer if saving them failed */
    uint64_t too_long;       /* records that were passed over for their length */
    uint64_t no_fingerprint; /* of requests.seen: lines that are none */
    uint64_t urls;           /* of the first lines: those that begin as URLs do */
    uint64_t looked_at;      /* these first lines */
    bool made;               /* there was no sieve before */
    uint64_t printed;
    bool good; /* every record was read and became a push, or was to be none */
};

/* Reads all inputs and pushes their lines into the sieve, which it opens and closes. Returns the
 * exit code; messages were printed if it is TOOL_ERROR. False in `opened`: there is nothing to
 * report. */
int tool_sieve_feed_run(struct tool_sieve_feed *feed, bool *opened);

/* The command as a whole: its options, and the report (sieve_push.c). */
int tool_sieve_feed_main(struct tool_sieve_feed *feed, int argc, char **argv,
                         const struct option *options);

#endif /* BLOOMERY_TOOL_SIEVE_FEED_H */
