/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: keys of several filters, of which the oldest goes (window.c). */
#ifndef BLOOMERY_MODULE_WINDOW_H
#define BLOOMERY_MODULE_WINDOW_H

#include "bf.h"

enum {
    BF_GENERATIONS_MIN = 2,
    BF_GENERATIONS_MAX = 64,
    BF_EVERY_MAX = 1000000000, /* seconds */
};

/* The last time that a window may have, in milliseconds since 1970: it fits every number that
 * clients and files have. */
#define BF_TIME_MAX (INT64_C(1) << 53)

struct bf_window_plan {
    double rate;       /* of the whole window with all its generations full */
    uint64_t capacity; /* items of one generation */
    uint32_t generations;
    uint64_t period_ms; /* 0: rotated by BF.ROTATE alone */
    uint64_t since_ms;  /* when the newest generation began */
};

struct bf_window {
    struct bf_window_plan plan;
    struct bf_value *generations[BF_GENERATIONS_MAX]; /* the newest first */
    bool is_arriving; /* by BF.LOADCHUNK: it is not rotated before its last byte is there, which is
                         0 until then. Saved with the window. */

    /* Where it was used last, for the cron. */
    char *name;
    size_t name_bytes;
    int database;
    struct bf_window *previous, *next;
};

extern server_type *bf_window_type;

/* The time of the day, or of a test; BF_TIME_MAX at most. */
uint64_t bf_now_ms(void);

/* The rate of one generation. */
double bf_window_rate(const struct bf_window_plan *plan);

/* A window without filters, or NULL. It is released by bf_window_free, in any thread. */
struct bf_window *bf_window_new(const struct bf_window_plan *plan);
void bf_window_free(void *value);

/* A window of empty filters. Limits are those of `context`, for all of them together. */
bloomery_status bf_window_create(server_context *context, const struct bf_window_plan *plan,
                                 struct bf_window **made);

/* Notes the name by which the cron finds a window. */
void bf_window_is_at(struct bf_window *window, const char *name, size_t bytes, int database);

/* The last chunk of a window is there: from now on its time counts. */
void bf_window_arrived(struct bf_window *window);

/* How many generations count now, from the newest: on a master those that are due are left out. */
uint32_t bf_window_visible(server_context *context, const struct bf_window *window);

/* Looks up to BF_BLOCK items up in the generations `from` to `to` - 1. */
void bf_window_may_contain(const struct bf_window *window, uint32_t from, uint32_t to,
                           const bloomery_keys *keys, uint64_t *answers);

/* The items of the newest `count` generations; one that is in several counts in each. */
uint64_t bf_window_items(const struct bf_window *window, uint32_t count);

/* Rotates `times` times; the newest generation begins at `since_ms`. */
void bf_window_rotate(struct bf_window *window, uint64_t times, uint64_t since_ms);

/* Replicas, the AOF and clients that watch the key hear of a rotation. */
void bf_window_rotated(server_context *context, server_string *name, uint64_t times,
                       uint64_t since_ms);

/* On a master: does the rotations that are due, before a command changes the window. */
void bf_window_catch_up(server_context *context, server_string *name, struct bf_window *window);

/* Makes all generations empty. */
void bf_window_clear(struct bf_window *window);

/* The header with which BF.SCANDUMP begins, and the AOF and RDB files, of at most
 * BF_WINDOW_HEADER_MAX bytes; and a window of empty filters made of one. */
enum { BF_WINDOW_HEADER_FIRST = 40, BF_WINDOW_HEADER_LINK = BF_HEADER_FIRST + BF_HEADER_LINK };
enum { BF_WINDOW_HEADER_MAX = BF_WINDOW_HEADER_FIRST + BF_GENERATIONS_MAX * BF_WINDOW_HEADER_LINK };
size_t bf_window_header(const struct bf_window *window, uint8_t header[BF_WINDOW_HEADER_MAX]);
bool bf_window_is_header(bloomery_key chunk);
bloomery_status bf_window_from_header(server_context *context, const void *header, size_t bytes,
                                      struct bf_window **made);

/* The bits that BF.SCANDUMP gives for an iterator above 0; 0 in `next`: its end. */
void bf_window_chunk(const struct bf_window *window, uint64_t iterator, const void **data,
                     size_t *bytes, uint64_t *next);

/* NULL, or why bits that end at `iterator` are not bits of this window. One that was rotated,
 * cleared or is whole takes none: they belong to other generations. */
const char *bf_window_load(struct bf_window *window, uint64_t iterator, bloomery_key chunk);

/* The bytes that BF.INFO and MEMORY USAGE give. */
uint64_t bf_window_told_bytes(const struct bf_window *window);

/* The type of these keys, named "bloomwind"; false if there is one already. */
bool bf_window_type_create(server_context *context);

/* The cron needs to know of windows. */
void bf_windows_register(server_context *context);

#endif /* BLOOMERY_MODULE_WINDOW_H */
