/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the explorer with a file in it. The page has one element for that, empty, which is
 * found by its text. Its place in the copy takes
 *
 *     <script type="application/octet-stream" id="given-file" data-name="NAME">BASE64</script>
 */
#ifndef BLOOMERY_TOOL_EXPLORER_COPY_H
#define BLOOMERY_TOOL_EXPLORER_COPY_H

#include "base/out.h"

#include <stdbool.h>
#include <stddef.h>

/* The largest file that goes into a copy. Base64 makes 85 MiB of it, all of which a browser has to
 * take in as text. A file that is dropped on the page is read as bytes, and may be larger. */
#define TOOL_EXPLORER_FILE_MAX  ((size_t)64 << 20)
#define TOOL_EXPLORER_FILE_SAID "64 MiB"

struct tool_explorer_copy {
    const char *name; /* of the file, without its folder */
    unsigned char *file;
    size_t file_bytes;
    char *page;
    size_t page_bytes;
    size_t before; /* bytes of the page before the element */
};

/* Reads the page, and the file ("-": stdin), whatever is in it. False after a message. In either
 * case tool_explorer_copy_end frees what there is. */
bool tool_explorer_copy_begin(struct tool_explorer_copy *copy, const char *page, const char *path);
void tool_explorer_copy_end(struct tool_explorer_copy *copy);

void tool_explorer_copy_write(const struct tool_explorer_copy *copy, struct tool_out *out);

#endif /* BLOOMERY_TOOL_EXPLORER_COPY_H */
