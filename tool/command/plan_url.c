/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plan_url.h"

#include "base/numbers.h"
#include "base/out.h"
#include "command/explore/explorer_page.h"
#include "tool.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char digits[] = "0123456789";

bool tool_plan_url_takes(const struct tool_plan_wish *wish)
{
    const struct {
        bool given;
        const char *option;
    } others[] = {
        {wish->json, "--json"},
        {wish->sieve || wish->of_sieve.in_use, "--sieve"},
        {wish->bits_per_key > 0, "--bits-per-key"},
        {wish->counter_bits > 0, "--counter-bits"},
        {wish->grow_to > 0, "--grow-to"},
        {wish->options.folds > 0, "--folds"},
        {wish->keys > 0 && wish->rate > 0 && wish->memory > 0, "all of -n, -p and --memory"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].given) {
            tool_usage("--url does not go with %s: an address has two of -n, -p and --memory, and "
                       "--kind, --blocks and --probes",
                       others[i].option);
            return false;
        }
    return true;
}

/* "https://", by the letters that RFC 3986 has for that. */
static bool has_scheme(const char *page)
{
    const size_t first = strspn(page, letters);
    size_t bytes = first;
    while (page[bytes] != '\0' &&
           (strchr(letters, page[bytes]) != NULL || strchr(digits, page[bytes]) != NULL ||
            strchr("+-.", page[bytes]) != NULL))
        bytes++;
    return first > 0 && strncmp(page + bytes, "://", 3) == 0;
}

/* An address stays as it is, so it must be able to take what is put behind it. */
static bool address_takes_a_query(const char *page)
{
    for (const char *at = page; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            tool_usage("--page: an address has no blanks and no control characters");
            return false;
        }
    if (strpbrk(page, "?#") == NULL)
        return true;
    tool_usage("--page %s: the plan comes where this address has a '?' or a '#' already", page);
    return false;
}

static void put_path(struct tool_out *out, const char *path)
{
    for (; *path != '\0'; path++)
        if (strchr(letters, *path) != NULL || strchr(digits, *path) != NULL ||
            strchr("/-._~", *path) != NULL)
            tool_out_bytes(out, path, 1);
        else
            tool_out_format(out, "%%%02X", (unsigned char)*path);
}

static void put_query(struct tool_out *out, const struct tool_plan_wish *wish)
{
    char rate[TOOL_NUMBER_BYTES];
    tool_out_text(out, "?n=");
    if (wish->keys > 0)
        tool_out_format(out, "%llu", (unsigned long long)wish->keys);
    tool_out_text(out, "&p=");
    if (wish->rate > 0)
        tool_out_text(out, tool_format_exact(rate, wish->rate));
    tool_out_text(out, "&m=");
    if (wish->memory > 0)
        tool_out_format(out, "%llu", (unsigned long long)wish->memory * 8);
    tool_out_text(out, "&k=");
    if (wish->options.probes > 0)
        tool_out_format(out, "%u", wish->options.probes);
    if (wish->kind != BLOOMERY_KIND_DEFAULT && wish->kind != BLOOMERY_BLOCKED)
        tool_out_format(out, "&kind=%s", bloomery_kind_name((int)wish->kind));
    if (wish->options.blocks_per_key > 0)
        tool_out_format(out, "&L=%u", wish->options.blocks_per_key);
    tool_out_text(out, "#calculator\n");
}

int tool_plan_url(const struct tool_plan_wish *wish)
{
    char path[PATH_MAX];
    struct tool_out out;
    tool_out_start(&out);
    if (wish->page != NULL && has_scheme(wish->page)) {
        if (!address_takes_a_query(wish->page))
            return TOOL_ERROR;
        tool_out_text(&out, wish->page);
    } else {
        /* A page that was named may be on its way there; the installed one has to be there. */
        if (wish->page != NULL ? !tool_explorer_path(wish->page, path)
                               : !tool_explorer_find(NULL, path))
            return TOOL_ERROR;
        tool_out_text(&out, "file://");
        put_path(&out, path);
    }
    put_query(&out, wish);
    return tool_out_finish(&out, TOOL_FOUND);
}
