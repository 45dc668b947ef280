/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file in a directory of outputs, packed as wanted, and written whole or not at all. Packing is
 * the work of a thread of its own. One output is open at a time, and written by one thread at a
 * time.
 *
 *     struct tool_packed_output *output = tool_packed_output_open("out", "a.jsonl.gz", TOOL_GZIP);
 *     while (... && tool_packed_output_write(output, line, bytes))
 *         ...
 *     written = tool_packed_output_finish(output, &bytes_written);
 */
#ifndef BLOOMERY_TOOL_PACKED_OUTPUT_H
#define BLOOMERY_TOOL_PACKED_OUTPUT_H

#include "input/packing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tool_packed_output;

/* Opens DIRECTORY/NAME for writing, in a directory that exists; what has that name is replaced when
 * all is written, and keeps its mode. What is no regular file, or is a filter, is refused, and so
 * is packing that tool_pack_makes not. NULL after a message. */
struct tool_packed_output *tool_packed_output_open(const char *directory, const char *name,
                                                   enum tool_packing packing);

/* The bytes are copied. False once anything has failed, after one message. */
bool tool_packed_output_write(struct tool_packed_output *output, const void *data, size_t bytes);

/* Packs the end, and then the file has the name and lies on the disk. `bytes_written` (may be
 * NULL): the bytes of the file. Frees the output in any case. False after a message (that of a
 * failed write is not repeated); then the file is as before. */
bool tool_packed_output_finish(struct tool_packed_output *output, uint64_t *bytes_written);

/* Frees the output; the file is as before. */
void tool_packed_output_drop(struct tool_packed_output *output);

#endif /* BLOOMERY_TOOL_PACKED_OUTPUT_H */
