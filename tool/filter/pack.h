/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed output: what unpack.h reads, written. gzip is made by zlib, all other formats by
 * libarchive, which is loaded when the first of them is needed (load.h). One thread at a time.
 *
 *     struct tool_pack *pack = tool_pack_open(TOOL_GZIP, &out);
 *     packed = tool_pack_write(pack, data, bytes) && ... && tool_pack_end(pack);
 *     tool_pack_close(pack);
 */
#ifndef BLOOMERY_TOOL_PACK_H
#define BLOOMERY_TOOL_PACK_H

#include "base/out.h"
#include "input/packing.h"

#include <stdbool.h>
#include <stddef.h>

struct tool_pack;

/* Whether files can be packed so: the streams that are in use, and neither .Z, lzop nor zlib. */
bool tool_pack_makes(enum tool_packing packing);

/* Begins to pack into `out`, which stays the caller's. Never NULL; whether it failed shows in
 * tool_pack_error. */
struct tool_pack *tool_pack_open(enum tool_packing packing, struct tool_out *out);

/* False after a failure, which may also be that of `out`. */
bool tool_pack_write(struct tool_pack *pack, const void *data, size_t bytes);

/* The end of the packed stream; `out` is not flushed. */
bool tool_pack_end(struct tool_pack *pack);

/* Why packing failed; "" if it did not, or if only `out` did. */
const char *tool_pack_error(const struct tool_pack *pack);

void tool_pack_close(struct tool_pack *pack);

#endif /* BLOOMERY_TOOL_PACK_H */
