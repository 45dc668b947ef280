/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of a key, as the reference writes it (encoding version 4):
 *
 *     U items, U links, U options, U growth
 *     each link: U capacity, D rate, U probes, D bits per key, U bits, U power, S bits, U items
 *
 * Loading meets any bytes: RESTORE takes them from every client. A number counts only after
 * IsIOError has said that it was there, and the library's own check of headers decides about the
 * rest. Memory is taken for bits that came, never for bits that were announced.
 *
 * A header needs the items of every link, which in the payload stand behind the link's bits. Of one
 * link they are the items of all, so its filter is made at once. Of several links the server's
 * copies wait until the last one has come. A filter's pages are taken as they are written, and
 * those of the server's copy are given back as soon as they lie in the filter: at no time there is
 * more memory than that of all bits once, and a step.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <string.h>

enum {
    ENCODING_WITH_GROWTH = 4,
    ENCODING_OLDEST = 2,
    GROWTH = 2,
    STEP_BYTES = 4 * 1024 * 1024,
};

/* Links that wait for the last one. */
struct waiting {
    uint8_t *header;
    char **bits; /* the server's; NULL: already given back */
    uint32_t links;
    uint32_t read;
};

bool bf_read_number(server_io *io, uint64_t *number)
{
    *number = server.LoadUnsigned(io);
    return server.IsIOError(io) == 0;
}

static bool read_real(server_io *io, double *number)
{
    *number = server.LoadDouble(io);
    return server.IsIOError(io) == 0;
}

/* All of a link but its bits and items. */
static bool read_link(server_io *io, struct bf_link *link)
{
    uint64_t probes = 0;
    uint64_t power = 0;
    if (!bf_read_number(io, &link->capacity) || !read_real(io, &link->rate) ||
        !bf_read_number(io, &probes) || !read_real(io, &link->bits_per_key) ||
        !bf_read_number(io, &link->bits) || !bf_read_number(io, &power))
        return false;
    if (probes > UINT32_MAX || power > UINT8_MAX || link->bits % 8 != 0)
        return false;
    link->probes = (uint32_t)probes;
    link->power = (uint8_t)power;
    link->bytes = link->bits / 8;
    return true;
}

char *bf_read_bits(server_io *io, uint64_t announced)
{
    size_t bytes = 0;
    uint64_t left;
    if (!bf_can_load(announced, &left)) {
        server.LogIOError(io, "warning",
                          "bloomery: a filter's %llu bytes are more than the %llu that the "
                          "container's memory limit leaves",
                          (unsigned long long)announced, (unsigned long long)left);
        return NULL;
    }
    char *bits = server.LoadStringBuffer(io, &bytes);
    if (server.IsIOError(io) != 0)
        return NULL;
    if (bits != NULL && bytes != announced) {
        server.Free(bits);
        return NULL;
    }
    return bits;
}

bool bf_place(struct bf_value *value, uint64_t iterator, char *bits, uint64_t bytes)
{
    const uint64_t begin = iterator - bytes;
    uint64_t at = 0;
    do {
        const uint64_t step = bytes - at < STEP_BYTES ? bytes - at : STEP_BYTES;
        if (bloomery_redisbloom_loadchunk(&value->filter, begin + at + step, bits + at,
                                          (size_t)step, NULL, NULL) != BLOOMERY_OK)
            return false;
        bf_drop_pages(bits + at, (size_t)step);
        at += step;
    } while (at < bytes);
    return true;
}

static struct bf_value *read_only_link(server_io *io, uint8_t *header, uint64_t items)
{
    struct bf_link link = {.size = items};
    struct bf_value *value = NULL;
    uint64_t told = 0;
    if (!read_link(io, &link))
        return NULL;
    char *bits = bf_read_bits(io, link.bytes);
    if (bits == NULL)
        return NULL;
    bf_header_write_link(header, 0, &link);
    const bool made = bf_value_from_header(NULL, 0, header, BF_HEADER_FIRST + BF_HEADER_LINK,
                                           &value, NULL) == BLOOMERY_OK &&
                      bf_place(value, link.bytes + 1, bits, link.bytes);
    server.Free(bits);
    if (made && bf_read_number(io, &told) && told == items)
        return value;
    bf_value_free(value);
    return NULL;
}

/* ---- Several links --------------------------------------------------------------------------- */

static bool read_links(server_io *io, struct waiting *waiting)
{
    for (; waiting->read < waiting->links; waiting->read++) {
        struct bf_link link = {0};
        char **bits = &waiting->bits[waiting->read];
        if (!read_link(io, &link))
            return false;
        *bits = bf_read_bits(io, link.bytes);
        if (*bits == NULL)
            return false;
        if (!bf_read_number(io, &link.size)) {
            server.Free(*bits);
            return false;
        }
        bf_header_write_link(waiting->header, waiting->read, &link);
    }
    return true;
}

static bool place_links(struct waiting *waiting, struct bf_value *value)
{
    uint64_t iterator = 1;
    for (uint32_t i = 0; i < waiting->links; i++) {
        struct bf_link link;
        bf_header_read_link(waiting->header, i, &link);
        iterator += link.bytes;
        if (!bf_place(value, iterator, waiting->bits[i], link.bytes))
            return false;
        server.Free(waiting->bits[i]);
        waiting->bits[i] = NULL;
    }
    return true;
}

static struct bf_value *read_several(server_io *io, struct waiting *waiting)
{
    const size_t bytes = BF_HEADER_FIRST + (size_t)BF_HEADER_LINK * waiting->links;
    struct bf_value *value = NULL;
    bool made =
        read_links(io, waiting) &&
        bf_value_from_header(NULL, 0, waiting->header, bytes, &value, NULL) == BLOOMERY_OK &&
        place_links(waiting, value);
    for (uint32_t i = 0; i < waiting->read; i++)
        if (waiting->bits[i] != NULL)
            server.Free(waiting->bits[i]);
    if (made)
        return value;
    bf_value_free(value);
    return NULL;
}

/* Reads the descriptions of `links` links. Their memory costs little even if 65,536 are announced
 * and do not come: the kernel keeps pages that nothing is written to. */
static struct bf_value *read_filter(server_io *io, const uint8_t *first, uint32_t links,
                                    uint64_t items)
{
    const size_t header_bytes = BF_HEADER_FIRST + (size_t)BF_HEADER_LINK * links;
    struct waiting waiting = {.links = links};
    struct bf_value *value = NULL;
    waiting.header = bf_try_alloc(header_bytes);
    waiting.bits = bf_try_alloc(links * sizeof(char *));
    if (waiting.header != NULL && waiting.bits != NULL) {
        memcpy(waiting.header, first, BF_HEADER_FIRST);
        value = links == 1 ? read_only_link(io, waiting.header, items) : read_several(io, &waiting);
    }
    if (waiting.header != NULL)
        server.Free(waiting.header);
    if (waiting.bits != NULL)
        server.Free(waiting.bits);
    return value;
}

void bf_log_unloaded(server_io *io, uint64_t refused)
{
    if (atomic_load(&bf_counts.refused_by_allocator) != refused)
        server.LogIOError(io, "warning",
                          "bloomery: a filter can't be loaded: the server is out of memory");
    else
        server.LogIOError(io, "warning",
                          "bloomery: a filter can't be loaded: it is damaged, too large, or of an "
                          "old form");
}

void *bf_rdb_load(server_io *io, int encoding)
{
    uint64_t items = 0;
    uint64_t links = 0;
    uint64_t options = 0;
    uint64_t growth = GROWTH;
    uint8_t first[BF_HEADER_FIRST];
    if (encoding < ENCODING_OLDEST || encoding > BF_ENCODING) {
        server.LogIOError(io, "warning", "bloomery: filters of encoding version %d are not read",
                          encoding);
        return NULL;
    }
    struct bf_value *value = NULL;
    const uint64_t refused = atomic_load(&bf_counts.refused_by_allocator);
    if (bf_read_number(io, &items) && bf_read_number(io, &links) && bf_read_number(io, &options) &&
        (encoding < ENCODING_WITH_GROWTH || bf_read_number(io, &growth)) && links > 0 &&
        links <= BF_LINKS_MAX && options <= UINT32_MAX && growth <= UINT32_MAX) {
        memcpy(first, &items, 8);
        memcpy(first + 8, &(uint32_t){(uint32_t)links}, 4);
        memcpy(first + 12, &(uint32_t){(uint32_t)options}, 4);
        memcpy(first + 16, &(uint32_t){(uint32_t)growth}, 4);
        value = read_filter(io, first, (uint32_t)links, items);
    }
    if (value != NULL) {
        bf_keep_addresses(value);
        bf_populate(value);
    } else {
        bf_log_unloaded(io, refused);
    }
    return value;
}

void bf_rdb_save(server_io *io, void *value)
{
    const struct bf_value *held = value;
    bloomery_info info;
    size_t bytes;
    uint32_t options;
    uint32_t growth;
    const uint8_t *header = bf_header(held, &bytes);
    bf_info_of(held, &info);
    memcpy(&options, header + 12, sizeof options);
    memcpy(&growth, header + 16, sizeof growth);
    server.SaveUnsigned(io, info.adds);
    server.SaveUnsigned(io, info.layers);
    server.SaveUnsigned(io, options);
    server.SaveUnsigned(io, growth);
    for (uint32_t i = 0; i < info.layers; i++) {
        struct bf_link link;
        const void *data;
        uint64_t room;
        bf_header_read_link(header, i, &link);
        (void)bloomery_layer_span(held->filter, i, &data, &room);
        assert(link.bytes <= room);
        server.SaveUnsigned(io, link.capacity);
        server.SaveDouble(io, link.rate);
        server.SaveUnsigned(io, link.probes);
        server.SaveDouble(io, link.bits_per_key);
        server.SaveUnsigned(io, link.bits);
        server.SaveUnsigned(io, link.power);
        server.SaveStringBuffer(io, data, (size_t)link.bytes);
        server.SaveUnsigned(io, link.size);
    }
}
