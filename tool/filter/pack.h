/* SPDX-License-Identifier: Apache-2.0 */
/* Output that is compressed. */
#ifndef BLOOMERY_TOOL_PACK_H
#define BLOOMERY_TOOL_PACK_H

#include "base/out.h"
#include "input/packing.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Packed output: what unpack.h reads, written. gzip is made by zlib, zstd by libzstd, and all other
 * formats by libarchive. The last two are loaded when the first output needs them; without libzstd
 * libarchive makes zstd, too. One thread at a time.
 *
 *     const struct tool_pack_form form = {.packing = TOOL_GZIP};
 *     struct tool_pack *pack = tool_pack_open(form, &out);
 *     packed = tool_pack_write(pack, data, bytes) && ... && tool_pack_end(pack);
 *     tool_pack_close(pack);
 */

/* How output is packed. */
struct tool_pack_form {
    enum tool_packing packing;
    unsigned level;      /* 0: the usual one of the format */
    unsigned window_log; /* of zstd; 0: that of the level */
};

struct tool_pack;

/* Whether files can be packed so: the streams that are in use, and neither .Z, lzop nor zlib. */
bool tool_pack_makes(enum tool_packing packing);

/* The highest level of a packing that tool_pack_makes has. The least is 1. */
unsigned tool_pack_level_max(enum tool_packing packing);

/* How a file is packed, as far as its first bytes say: zstd's window, and gzip's level if it is the
 * fastest or the best. No file of zstd says its level. Of frames that are skipped those behind them
 * count. TOOL_PLAIN as in tool_path_packing. */
struct tool_pack_form tool_pack_form_of(const char *path);

/* Begins to pack into `out`, which stays the caller's. Never NULL; whether it failed shows in
 * tool_pack_error. */
struct tool_pack *tool_pack_open(struct tool_pack_form form, struct tool_out *out);

/* False after a failure, which may also be that of `out`. */
bool tool_pack_write(struct tool_pack *pack, const void *data, size_t bytes);

/* The end of the packed stream; `out` is not flushed. */
bool tool_pack_end(struct tool_pack *pack);

/* Why packing failed; "" if it did not, or if only `out` did. */
const char *tool_pack_error(const struct tool_pack *pack);

void tool_pack_close(struct tool_pack *pack);

#endif /* BLOOMERY_TOOL_PACK_H */
