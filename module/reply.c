/* SPDX-License-Identifier: Apache-2.0 */
/* What several commands say. */
#include "bf.h"

#include <string.h>
#include <strings.h>

int bf_fail(server_context *context, const char *text)
{
    (void)server.ReplyWithError(context, text);
    return SERVER_OK;
}

int bf_fail_not(server_context *context, enum bf_found found)
{
    return bf_fail(context, found == BF_MISSING ? "ERR not found" : BF_WRONG_TYPE_TEXT);
}

bool bf_is_word(const server_string *string, const char *word)
{
    size_t bytes;
    const char *data = server.StringPtrLen(string, &bytes);
    return bytes == strlen(word) && strncasecmp(data, word, bytes) == 0;
}

int bf_find_word(server_string **words, int count, const char *word)
{
    for (int i = 1; i < count; i++)
        if (bf_is_word(words[i], word))
            return i;
    return 0;
}

bloomery_key bf_key_of(const server_string *string)
{
    size_t bytes;
    const char *data = server.StringPtrLen(string, &bytes);
    return bloomery_key_of(data, bytes);
}
