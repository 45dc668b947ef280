/* SPDX-License-Identifier: Apache-2.0 */
#include "input/archive_reader.h"

#include "base/load.h"
#include "input/unpack.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

const char *tool_libarchive_load(struct libarchive *functions)
{
    const struct tool_wanted wanted[] = {LIBARCHIVE_FUNCTIONS(TOOL_LOAD_WANTED)};
    return tool_load(TOOL_LIBARCHIVE, wanted, sizeof(wanted) / sizeof(wanted[0]));
}

/* libarchive converts names to the encoding of the locale, and gives none that it can't convert.
 * The locale is this thread's for that long. */
int tool_libarchive_next(const struct libarchive *library, struct archive *archive,
                         struct archive_entry **entry, char *name, size_t room)
{
    const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    const locale_t before = utf8 != (locale_t)0 ? uselocale(utf8) : (locale_t)0;
    const int result = library->archive_read_next_header(archive, entry);
    const char *found = NULL;
    if (result == ARCHIVE_OK || result == ARCHIVE_WARN)
        found = library->archive_entry_pathname(*entry);
    snprintf(name, room, "%s", found != NULL ? found : "?");
    if (utf8 != (locale_t)0) {
        uselocale(before);
        freelocale(utf8);
    }
    return result;
}

/* libarchive says it by a sentence alone, whose words tell the kinds apart. */
const char *tool_libarchive_why(const struct libarchive *library, struct archive *archive,
                                const char *text)
{
    if (library->archive_read_has_encrypted_entries(archive) == 1 ||
        strcasestr(text, "encrypt") != NULL || strcasestr(text, "passphrase") != NULL)
        return "is encrypted; unpack it with its password first";
    if (strcasestr(text, "too much memory") != NULL) /* libzstd's word */
        return "needs a window that is too large for this libarchive; 'zstd -dc --long=31 FILE | "
               "bloomery ...' reads it";
    if (library->archive_errno(archive) == ENOMEM || strcasestr(text, "memory") != NULL ||
        strcasestr(text, "allocate") != NULL)
        return "there is not enough memory to unpack it";
    if (strcasestr(text, "support") != NULL)
        return "this libarchive can't unpack it; unpack it first";
    if (strcasestr(text, "truncated") != NULL)
        return "the compressed data is cut short";
    return "the compressed data is damaged";
}
