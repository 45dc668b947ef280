/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to a filter:
 *
 *     path  -> base/map.c -> prefix -> format/parse.c -> shape ─┬─> core/make.c -> filter
 *     bytes -------------------^            payload, mapped or read ┘
 *
 * The prefix is read once into memory of ours and parsed there: a file that changes under a map can
 * change bits, but no size.
 */
#include "options.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/pages.h"
#include "chain/grow.h"
#include "dialects/dialects.h"
#include "format/format.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The key of a keyed filter: from the file, or from the options, and the one it was made with. */
static bloomery_status find_secret(const struct bloomery_parsed *parsed,
                                   const bloomery_open_options *options,
                                   struct bloomery_traits *traits, bloomery_error *error)
{
    const bool inspect = options->inspect;
    const struct bloomery_hash_row *hash = parsed->shape.hash_row;
    assert(hash != NULL);
    traits->secret.seed = parsed->shape.seed;
    traits->secret_in_file = parsed->has_secret;
    if (parsed->has_secret)
        memcpy(traits->secret.siphash, parsed->secret, BLOOMERY_SECRET_BYTES);
    traits->secret_known = !hash->keyed && bloomery_hash_usable(hash);
    if (!hash->keyed)
        return traits->secret_known || inspect ? BLOOMERY_OK
                                               : bloomery_dialect_no_hash(hash, error);
    if (!hash->available)
        return inspect ? BLOOMERY_OK
                       : bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                       "the filter is keyed, and this build has no hash %s: it was "
                                       "made without libsodium",
                                       hash->name);
    if (options->secret != NULL &&
        bloomery_secret_fingerprint(options->secret) != parsed->shape.secret_fingerprint)
        return bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                             "the secret given is not the one that the filter was made with");
    if (options->secret != NULL)
        memcpy(traits->secret.siphash, options->secret, BLOOMERY_SECRET_BYTES);
    traits->secret_known = parsed->has_secret || options->secret != NULL;
    if (!traits->secret_known && !inspect)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "the filter is keyed and does not carry its secret, which must be given");
    return BLOOMERY_OK;
}

static bloomery_status read_traits(const struct bloomery_parsed *parsed,
                                   const bloomery_open_options *options, bool copy,
                                   struct bloomery_traits *traits, bloomery_error *error)
{
    *traits = (struct bloomery_traits){
        .allocator = options->allocator,
        .concurrent = copy && options->concurrent_adds,
        .of_our_file = true,
        .memory_limit = options->memory_limit,
        .rule = parsed->rule,
        .note = parsed->note,
        .note_bytes = parsed->note_bytes,
        .extra = parsed->extra,
        .extra_bytes = parsed->extra_bytes,
    };
    bloomery_status status = bloomery_dialect_may_open(&parsed->shape, traits, error);
    if (status != BLOOMERY_OK)
        return status;
    return find_secret(parsed, options, traits, error);
}

static void wipe(struct bloomery_parsed *parsed, struct bloomery_traits *traits)
{
    bloomery_wipe(parsed->secret, sizeof parsed->secret);
    bloomery_wipe(&traits->secret, sizeof traits->secret);
}

/* A read-only filter over the whole file at `bytes`. */
static bloomery_status make_view(const struct bloomery_parsed *parsed,
                                 const struct bloomery_traits *traits, const uint8_t *bytes,
                                 bloomery_filter **filter, bloomery_error *error)
{
    bloomery_status status =
        bloomery_filter_make(&parsed->shape, traits, bytes + parsed->payload_offset,
                             parsed->payload_bytes, filter, error);
    if (status == BLOOMERY_OK) {
        struct bloomery_rest *rest = bloomery_rest_of(*filter);
        rest->checksums = bytes + parsed->payload_offset + parsed->payload_bytes;
        rest->checksum_seed = parsed->header_checksum;
        rest->payload_offset = parsed->payload_offset;
    }
    return status;
}

/* Checks a copied payload, before keys may be added to it: saving it again would put good checksums
 * on damaged bits. Frees the filter on failure. */
static bloomery_status check_copy(const struct bloomery_parsed *parsed, const uint8_t *checksums,
                                  bloomery_filter **filter, bloomery_error *error)
{
    const uint8_t *payload = bloomery_payload_of(*filter);
    assert(bloomery_payload_room(*filter) == parsed->payload_bytes);
    assert(bloomery_rest_in(*filter)->checksums == NULL);
    bloomery_status status =
        bloomery_checksums_verify(payload, parsed->payload_bytes, checksums,
                                  parsed->header_checksum, parsed->payload_offset, error);
    if (status == BLOOMERY_OK)
        status = bloomery_spare_bits_check(*filter, parsed->payload_offset, error);
    if (status == BLOOMERY_OK)
        bloomery_chain_open(*filter);
    if (status != BLOOMERY_OK) {
        bloomery_free(*filter);
        *filter = NULL;
    }
    return status;
}

static bloomery_status open_mapped(int file, const struct bloomery_parsed *parsed,
                                   const struct bloomery_traits *traits, bloomery_filter **filter,
                                   bloomery_error *error)
{
    struct bloomery_map map = {NULL, 0};
    bloomery_status status = bloomery_map_file(file, (size_t)parsed->file_bytes, &map, error);
    if (status != BLOOMERY_OK)
        return status;
    assert(map.bytes == parsed->file_bytes);
    status = make_view(parsed, traits, map.data, filter, error);
    if (status != BLOOMERY_OK) {
        bloomery_unmap(&map);
        return status;
    }
    if (parsed->has_secret)
        bloomery_pages_hide(map.data, (size_t)parsed->payload_offset);
    (*filter)->storage = BLOOMERY_MAPPED;
    bloomery_rest_of(*filter)->map = map;
    return BLOOMERY_OK;
}

static bloomery_status open_copy(int file, const struct bloomery_parsed *parsed,
                                 const struct bloomery_traits *traits, bloomery_filter **filter,
                                 bloomery_error *error)
{
    const size_t bytes = (size_t)bloomery_checksums_bytes(parsed->payload_bytes);
    bloomery_status status =
        bloomery_filter_make(&parsed->shape, traits, NULL, parsed->payload_bytes, filter, error);
    if (status != BLOOMERY_OK)
        return status;
    uint8_t *checksums = bloomery_allocate(&traits->allocator, bytes, 8);
    if (checksums == NULL)
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "not enough memory for %llu bytes of checksums",
                               (unsigned long long)bytes);
    if (status == BLOOMERY_OK)
        status = bloomery_file_read(file, parsed->payload_offset, bloomery_payload_of(*filter),
                                    (size_t)parsed->payload_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_file_read(file, parsed->payload_offset + parsed->payload_bytes, checksums,
                                    bytes, error);
    if (status == BLOOMERY_OK) {
        status = check_copy(parsed, checksums, filter, error);
    } else {
        bloomery_free(*filter);
        *filter = NULL;
    }
    bloomery_release(&traits->allocator, checksums, bytes, 8);
    return status;
}

/* A file that is open. `name` is for messages. */
static bloomery_status read_file(int file, const char *name, const bloomery_open_options *options,
                                 bool copy, bloomery_filter **filter, bloomery_error *error)
{
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    uint8_t prefix[BLOOMERY_PREFIX_MAX];
    uint64_t file_bytes = 0;
    bloomery_status status = bloomery_file_size(file, name, &file_bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    size_t prefix_bytes = file_bytes < sizeof prefix ? (size_t)file_bytes : sizeof prefix;
    status = bloomery_file_read(file, 0, prefix, prefix_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_format_parse(prefix, prefix_bytes, file_bytes, bloomery_dialect_rows,
                                       &parsed, error);
    if (status == BLOOMERY_OK)
        status = read_traits(&parsed, options, copy, &traits, error);
    if (status == BLOOMERY_OK && copy)
        status = open_copy(file, &parsed, &traits, filter, error);
    else if (status == BLOOMERY_OK)
        status = open_mapped(file, &parsed, &traits, filter, error);
    wipe(&parsed, &traits);
    bloomery_wipe(prefix, sizeof prefix);
    assert((status == BLOOMERY_OK) == (*filter != NULL));
    return status;
}

/* The file at a path or, without one, the file that the options name. */
static bloomery_status open_file(const char *path, const bloomery_open_options *given, bool copy,
                                 bloomery_filter **filter, bloomery_error *error)
{
    bloomery_open_options options;
    char name[40];
    int file = -1;
    *filter = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK && path == NULL && given == NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "there is no path: give one, or options whose `descriptor` is an "
                               "open file");
    if (status == BLOOMERY_OK && path != NULL)
        status = bloomery_file_open(path, &file, error);
    if (status != BLOOMERY_OK)
        return status;
    if (path != NULL) {
        status = read_file(file, path, &options, copy, filter, error);
        bloomery_file_close(file);
    } else {
        snprintf(name, sizeof name, "descriptor %d", (int)options.descriptor);
        status = read_file(options.descriptor, name, &options, copy, filter, error);
    }
    return status;
}

bloomery_status bloomery_open(const char *path, const bloomery_open_options *options,
                              bloomery_filter **filter, bloomery_error *error)
{
    return open_file(path, options, true, filter, error);
}

bloomery_status bloomery_map(const char *path, const bloomery_open_options *options,
                             const bloomery_filter **filter, bloomery_error *error)
{
    bloomery_filter *mapped = NULL;
    const bloomery_status status = open_file(path, options, false, &mapped, error);
    *filter = mapped;
    return status;
}

/* The part of view and load that both have. */
static bloomery_status parse_span(const void *data, size_t bytes,
                                  const bloomery_open_options *given, bool copy,
                                  struct bloomery_parsed *parsed, struct bloomery_traits *traits,
                                  bloomery_error *error)
{
    bloomery_open_options options;
    size_t prefix_bytes = bytes < BLOOMERY_PREFIX_MAX ? bytes : BLOOMERY_PREFIX_MAX;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_format_parse(data, prefix_bytes, bytes, bloomery_dialect_rows, parsed, error);
    if (status == BLOOMERY_OK)
        status = read_traits(parsed, &options, copy, traits, error);
    return status;
}

bloomery_status bloomery_view(const void *data, size_t bytes, const bloomery_open_options *given,
                              const bloomery_filter **filter, bloomery_error *error)
{
    bloomery_filter *view = NULL;
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    *filter = NULL;
    if ((uintptr_t)data % BLOOMERY_PAYLOAD_UNIT != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a view needs bytes at an address that is a multiple of 64; "
                             "bloomery_load copies from any");
    bloomery_status status = parse_span(data, bytes, given, false, &parsed, &traits, error);
    if (status == BLOOMERY_OK)
        status = make_view(&parsed, &traits, data, &view, error);
    wipe(&parsed, &traits);
    assert((status == BLOOMERY_OK) == (view != NULL));
    *filter = view;
    return status;
}

bloomery_status bloomery_load(const void *data, size_t bytes, const bloomery_open_options *given,
                              bloomery_filter **filter, bloomery_error *error)
{
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    const uint8_t *from = data;
    *filter = NULL;
    bloomery_status status = parse_span(data, bytes, given, true, &parsed, &traits, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_filter_make(&parsed.shape, &traits, NULL, parsed.payload_bytes, filter, error);
    if (status == BLOOMERY_OK) {
        memcpy(bloomery_payload_of(*filter), from + parsed.payload_offset,
               (size_t)parsed.payload_bytes);
        status =
            check_copy(&parsed, from + parsed.payload_offset + parsed.payload_bytes, filter, error);
    }
    wipe(&parsed, &traits);
    assert((status == BLOOMERY_OK) == (*filter != NULL));
    return status;
}
