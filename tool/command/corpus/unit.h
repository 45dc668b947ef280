/* SPDX-License-Identifier: Apache-2.0 */
/* What of a corpus is compared, and by which keys. */
#ifndef BLOOMERY_TOOL_UNIT_H
#define BLOOMERY_TOOL_UNIT_H

#include "command/dedupe/dedupe.h"
#include "input/layout.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tool_unit { TOOL_UNIT_NONE, TOOL_UNIT_DOCUMENT, TOOL_UNIT_PARAGRAPH, TOOL_UNIT_NGRAM };

enum { TOOL_THRESHOLD_ONE = 1000000 };

/* How documents are judged. The same for all threads, which only read it. */
struct tool_judge {
    enum tool_unit unit;
    uint32_t ngram;       /* words */
    uint32_t min_words;   /* of a text or paragraph that is compared; fewer: it stays */
    uint32_t threshold;   /* the share of n-grams seen that is too much, in millionths */
    const char *annotate; /* the name of the member that is added to lines; NULL: texts are cut */
    const struct tool_json_path *member; /* where lines have it already; NULL with `annotate` */
    bool invert;                         /* what goes is written, and not what stays */
    bool no_add;                         /* nothing is added to what was seen */
    uint32_t shard, shards; /* only keys of this shard are judged; shards = 0: all are */
    const struct tool_json_path *path;
    bloomery_key_rule rule;
    const bloomery_filter *filter;      /* whose hashes are made */
    const struct tool_against *against; /* whose keys count as seen */
    size_t against_count;
};

#endif /* BLOOMERY_TOOL_UNIT_H */
