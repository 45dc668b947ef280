/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One form for URLs that are the same by RFC 3986, section 6.2, as far as that is so on any server:
 *
 *     HTTP://User:Pw@EXAMPLE.com:80/a%2fb?q=%c3%a9#top
 *     http://User:Pw@example.com/a%2Fb?q=%C3%A9
 *
 *     scheme      lower case
 *     user        as it is: all up to the last @ before the path
 *     host        lower case
 *     port        dropped if it is empty or the scheme's own (ftp 21, http and ws 80, https and
 *                 wss 443); zeros in front of it are dropped
 *     path        "/" if it is empty. Neither case nor "..", "//", a slash at the end: servers
 *                 may tell them apart
 *     query       as it is, an empty one too. "url-query": parameters (what stands between &) in
 *                 the order of their names (what stands before =) as bytes, those of one name in
 *                 the order they had. A query of more than PARAMETERS keeps its order
 *     fragment    dropped, "#!" too
 *     escapes     %2f becomes %2F everywhere. None is decoded: %7E and ~ are the same, but decoding
 *                 is where canonicalisers begin to differ, and a wrong one loses a page; a "%"
 *                 without two hex digits stays
 *
 * A key is an absolute URL if it begins with a scheme and "://". All others are left alone, and so
 * is any byte that is not named above, blanks and bytes over 127 among them. A host with colons and
 * no brackets has no port that could be told.
 */
#include "sieve/internal.h"

#include <assert.h>
#include <string.h>

enum { PARAMETERS = 1024 };

/* Where the parts of a URL begin; each ends where the next begins, but for separators. */
struct url {
    const uint8_t *text;
    size_t scheme_end; /* its ':' */
    size_t host;       /* behind the "://", or behind an '@' */
    size_t host_end;   /* ':' of the port, or path */
    size_t path;       /* '/', '?', or the end */
    size_t query;      /* '?', or the end */
    size_t end;        /* '#', or the key's end */
};

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

static bool is_letter(uint8_t byte)
{
    return lower(byte) >= 'a' && lower(byte) <= 'z';
}

static bool is_hex(uint8_t byte)
{
    return is_digit(byte) || (lower(byte) >= 'a' && lower(byte) <= 'f');
}

static uint8_t upper_hex(uint8_t byte)
{
    return byte >= 'a' && byte <= 'f' ? (uint8_t)(byte - 32) : byte;
}

/* Whether an escape, % and two hex digits, begins at `at`. Two cannot overlap: % is not
 * a hex digit. */
static bool is_escape(const uint8_t *text, size_t at, size_t end)
{
    assert(at < end);
    return text[at] == '%' && end - at > 2 && is_hex(text[at + 1]) && is_hex(text[at + 2]);
}

/* The first of these bytes from `from` on, or `end`. */
static size_t find(const uint8_t *text, size_t from, size_t end, uint8_t wanted)
{
    assert(from <= end);
    const uint8_t *found = from < end ? memchr(text + from, wanted, end - from) : NULL;
    return found == NULL ? end : (size_t)(found - text);
}

/* ---- Taking apart ---------------------------------------------------------------------------- */

/* The ':' of "scheme://", or 0. */
static size_t scheme_end(const uint8_t *text, size_t end)
{
    size_t at = 0;
    if (end == 0 || !is_letter(text[0]))
        return 0;
    while (at < end && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '+' ||
                        text[at] == '-' || text[at] == '.'))
        at++;
    return end - at >= 3 && memcmp(text + at, "://", 3) == 0 ? at : 0;
}

/* Where the host ends: at a colon that only digits follow, and before which there is no other, or
 * only those in brackets. So a port that was dropped never makes another one of what is
 * left. */
static size_t host_end(const uint8_t *text, size_t from, size_t end)
{
    size_t colon = end;
    if (from < end && text[from] == '[') {
        const size_t bracket = find(text, from, end, ']');
        colon = bracket < end && bracket + 1 < end && text[bracket + 1] == ':' ? bracket + 1 : end;
    } else {
        colon = find(text, from, end, ':');
    }
    for (size_t at = colon + 1; at < end; at++)
        if (!is_digit(text[at]))
            return end;
    return colon;
}

static bool parse_url(bloomery_key key, struct url *url)
{
    const uint8_t *text = key.data;
    url->text = text;
    url->scheme_end = scheme_end(text, key.bytes);
    if (url->scheme_end == 0)
        return false;
    const size_t from = url->scheme_end + 3;
    url->end = find(text, from, key.bytes, '#');
    url->query = find(text, from, url->end, '?');
    url->path = find(text, from, url->query, '/');
    url->host = from;
    for (size_t at = from; at < url->path; at++)
        if (text[at] == '@')
            url->host = at + 1;
    url->host_end = host_end(text, url->host, url->path);
    assert(url->scheme_end < url->host && url->host <= url->host_end);
    assert(url->host_end <= url->path && url->path <= url->query && url->query <= url->end);
    return true;
}

/* ---- Putting together ------------------------------------------------------------------------ */

/* Copies with escapes in upper case, and the rest in lower case if `lower_case`; returns the
 * bytes. */
static size_t copy(uint8_t *to, const uint8_t *text, size_t from, size_t end, bool lower_case)
{
    size_t put = 0;
    for (size_t at = from; at < end; at++) {
        if (is_escape(text, at, end)) {
            to[put++] = '%';
            to[put++] = upper_hex(text[++at]);
            to[put++] = upper_hex(text[++at]);
        } else {
            to[put++] = lower_case ? lower(text[at]) : text[at];
        }
    }
    assert(put == end - from);
    return put;
}

/* The default port of a scheme; 0: none. */
static uint32_t scheme_port(const uint8_t *scheme, size_t bytes)
{
    static const struct {
        const char *name;
        uint32_t port;
    } ports[] = {{"http", 80}, {"https", 443}, {"ftp", 21}, {"ws", 80}, {"wss", 443}};
    for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
        if (strlen(ports[i].name) == bytes && memcmp(ports[i].name, scheme, bytes) == 0)
            return ports[i].port;
    return 0;
}

/* Writes ":port" unless it can be left out. `scheme` is in lower case. */
static size_t copy_port(uint8_t *to, const struct url *url, const uint8_t *scheme)
{
    size_t from = url->host_end + 1;
    while (from + 1 < url->path && url->text[from] == '0')
        from++;
    if (from >= url->path)
        return 0;
    uint32_t port = 0;
    for (size_t at = from; at < url->path && port < 65536; at++)
        port = port * 10 + (uint32_t)(url->text[at] - '0');
    if (port != 0 && port == scheme_port(scheme, url->scheme_end))
        return 0;
    to[0] = ':';
    memcpy(to + 1, url->text + from, url->path - from);
    return 1 + url->path - from;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

struct parameter {
    size_t from;
    size_t name_end;
    size_t end;
};

/* A byte as it will be written: with the hex digits of an escape in upper case. */
static uint8_t written(const uint8_t *text, const struct parameter *parameter, size_t at)
{
    assert(at >= parameter->from && at < parameter->end);
    for (size_t back = 1; back <= 2 && at >= parameter->from + back; back++)
        if (is_escape(text, at - back, parameter->end))
            return upper_hex(text[at]);
    return text[at];
}

static bool name_follows(const uint8_t *text, const struct parameter *one,
                         const struct parameter *other)
{
    const size_t one_bytes = one->name_end - one->from;
    const size_t other_bytes = other->name_end - other->from;
    for (size_t i = 0; i < one_bytes && i < other_bytes; i++) {
        const uint8_t a = written(text, one, one->from + i);
        const uint8_t b = written(text, other, other->from + i);
        if (a != b)
            return a > b;
    }
    return one_bytes > other_bytes;
}

/* Merge sort, from the bottom up, to and fro between two halves of an array; returns the sorted
 * half. */
static uint16_t *sort(const uint8_t *text, const struct parameter *parameters, size_t count,
                      uint16_t order[2 * PARAMETERS])
{
    uint16_t *from = order;
    uint16_t *to = order + PARAMETERS;
    for (size_t i = 0; i < count; i++)
        from[i] = (uint16_t)i;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            const size_t middle = start + width < count ? start + width : count;
            const size_t end = middle + width < count ? middle + width : count;
            size_t left = start;
            size_t right = middle;
            for (size_t i = start; i < end; i++) {
                const bool take_right =
                    left == middle || (right < end && name_follows(text, &parameters[from[left]],
                                                                   &parameters[from[right]]));
                to[i] = from[take_right ? right++ : left++];
            }
            assert(left == middle && right == end);
        }
        uint16_t *const sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

/* Writes what follows the '?', sorted. */
static size_t copy_sorted(uint8_t *to, const uint8_t *text, size_t from, size_t end)
{
    struct parameter parameters[PARAMETERS];
    uint16_t order[2 * PARAMETERS];
    size_t count = 0;
    for (size_t at = from; at <= end; at = parameters[count - 1].end + 1) {
        if (count == PARAMETERS)
            return copy(to, text, from, end, false);
        struct parameter *const parameter = &parameters[count++];
        parameter->from = at;
        parameter->end = find(text, at, end, '&');
        parameter->name_end = find(text, at, parameter->end, '=');
    }
    const uint16_t *const sorted = sort(text, parameters, count, order);
    size_t put = 0;
    for (size_t i = 0; i < count; i++) {
        const struct parameter *const parameter = &parameters[sorted[i]];
        if (i > 0)
            to[put++] = '&';
        put += copy(to + put, text, parameter->from, parameter->end, false);
    }
    assert(put == end - from);
    return put;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static size_t write_url(const struct url *url, uint8_t *to, bool sorted)
{
    const uint8_t *text = url->text;
    size_t put = 0;
    for (; put < url->scheme_end; put++)
        to[put] = lower(text[put]);
    put += copy(to + put, text, put, url->host, false);
    put += copy(to + put, text, url->host, url->host_end, true);
    put += copy_port(to + put, url, to);
    if (url->path == url->query)
        to[put++] = '/';
    put += copy(to + put, text, url->path, url->query, false);
    if (url->query == url->end)
        return put;
    to[put++] = '?';
    if (sorted)
        return put + copy_sorted(to + put, text, url->query + 1, url->end);
    return put + copy(to + put, text, url->query + 1, url->end, false);
}

static size_t canonical(bloomery_key key, void *out, size_t room, bool sorted)
{
    struct url url;
    if (room <= key.bytes || !parse_url(key, &url))
        return SIZE_MAX;
    const size_t put = write_url(&url, out, sorted);
    assert(put <= key.bytes + 1);
    return put;
}

static size_t canon_url(void *context, bloomery_key key, void *out, size_t room)
{
    (void)context;
    return canonical(key, out, room, false);
}

static size_t canon_url_query(void *context, bloomery_key key, void *out, size_t room)
{
    (void)context;
    return canonical(key, out, room, true);
}

bloomery_canonicaliser bloomery_canon_find(const char *name)
{
    if (strcmp(name, "url") == 0)
        return canon_url;
    if (strcmp(name, "url-query") == 0)
        return canon_url_query;
    return NULL;
}
