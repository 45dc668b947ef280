/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the fuzz targets of a sieve's directory (sieve.c, look.c):
 *
 *     sieve_story.c    sound directories to begin with, and what has to come out of each
 *     sieve_change.c   the changes that an input makes to one
 *     sieve_mend.c     its checksums made right again
 *     sieve_life.c     opening it and making calls, and what these promise
 */
#ifndef FUZZ_SIEVE_H
#define FUZZ_SIEVE_H

#include <bloomery/sieve.h>

enum {
    STORIES = 7,
    IDS = 2048,    /* keys have numbers below */
    LEASES = 48,   /* of every sieve here */
    SEGMENT = 400, /* bytes of a segment of the queue, about */
    MOMENTS = 8,
    FILES = 64,
    NAME = 64,
    POPPED = 512, /* in one life, at most */
};

/* Ends the program where a promise is broken. */
void must(bool holds, const char *what);
/* What a call said that failed: told then. */
void must_say(const char *text);

/* ---- Directories as bytes -------------------------------------------------------------------- */

struct file {
    char name[NAME];
    uint8_t *bytes;
    size_t size;
};

struct image {
    struct file files[FILES];
    size_t count;
};

/* NULL where there is none of that name. */
struct file *image_find(struct image *image, const char *name);
/* Empty; the one of that name where there is one, NULL where there are FILES. */
struct file *image_add(struct image *image, const char *name);
void file_set(struct file *file, const void *bytes, size_t size);
void image_remove(struct image *image, struct file *file);
struct image image_copy(const struct image *image);
bool image_same(const struct image *one, const struct image *other);
void image_free(struct image *image);

/* The files of the directory of this process, and back. */
const char *directory_path(void);
void directory_remove(void);
struct image directory_read(void);
void directory_write(const struct image *image);

/* ---- What has to come out -------------------------------------------------------------------- */

struct facts {
    uint64_t pushed;
    uint64_t new_keys;
    uint64_t seen;
    uint64_t pending;
    uint64_t forced;
    uint64_t marked;
    uint64_t queued;
    uint64_t leased;
    uint64_t done;
};

/* A commit: what the sieve says of itself, and what was pushed and not acknowledged. */
struct moment {
    struct facts facts;
    uint8_t left[IDS];  /* how often a key has to come */
    uint8_t known[IDS]; /* whether it was pushed, forced or marked */
};

struct shape {
    const char *name;
    bloomery_sieve_engine engine;
    uint32_t partitions;
    uint32_t fingerprint_bits;
    bool ordered;
    bloomery_sieve_full full;
    uint64_t keys;
    double rate;
    const char *dialect;
    size_t
        save; /* the commit that saves the filter, 1 the first; 0: none, it is made of the queue */
    const char *canon;
    uint32_t marks;   /* keys that are marked, to have a seen-set of some size */
    bool long_key;    /* one is longer than any buffer */
    bool wrong_drops; /* a new key may be called seen */
};

struct story {
    struct shape shape;
    struct moment moments[MOMENTS];
    size_t moment_count; /* the last is the state of `now`, the one before that of `before` */
    struct image before;
    struct image now;
    struct image manifest_before; /* MANIFEST alone, one commit before `before` */
};

/* Makes it when it is first called for. */
const struct story *story_get(unsigned number);

/* ---- A life ---------------------------------------------------------------------------------- */

struct life {
    const struct shape *shape;
    bloomery_sieve *sieve;
    uint64_t max_bytes; /* that may be allocated */
    bool sound;         /* nothing was changed: no failure is right */
    bool mended;        /* the content may be anything */
    bool told;          /* damage, or another failure */
    bool verified;      /* and nothing was found */
    bool lost;          /* what the last commit holds is not known */
    struct moment state;
    uint8_t came[IDS]; /* in this life */
    uint64_t last;     /* number of the last item that came for the first time */
    uint64_t again[POPPED];
    size_t again_count;
    size_t popped;
};

/* What the directory is opened with. */
struct opening {
    bool make;
    bool keep_leases;
    bool ample; /* memory: more than the least */
};

/* False: it was refused. Fills life->state.facts. */
bool life_open(struct life *life, const struct opening *opening);
struct facts life_facts(const struct life *life);
void life_push(struct life *life, uint32_t id, bloomery_sieve_push_mode kind);
/* Pops up to `room` items, acknowledges the first `acks`, returns the next `returns`. How many
 * came. */
size_t life_pop(struct life *life, size_t room, size_t acks, size_t returns);
void life_flush(struct life *life);
void life_commit(struct life *life);
void life_verify(struct life *life);
/* Asks for some keys, walks seen-set and queue. */
void life_query(struct life *life);
/* Everything, past what is damaged. */
void life_drain(struct life *life);
void life_close(struct life *life);

/* Whether exactly what is left has to come. */
bool life_exact(const struct life *life);

/* ---- Changes --------------------------------------------------------------------------------- */

struct input {
    const uint8_t *data;
    size_t size;
    size_t at;
};

/* The next bytes as a number, little-endian; zeros behind the end. */
uint64_t input_take(struct input *input, unsigned bytes);
bool input_ended(const struct input *input);

/* Makes all changes of an input to `image`, which is a copy of story->now. Whether bytes of an
 * earlier commit came back. */
bool change_all(struct input *input, const struct story *story, struct image *image);

/* How the library writes a manifest now, by one that is sound. */
void mend_learn(const struct file *manifest);
/* In how many copies, of both slots together: the state of a commit is in one, or in several. */
unsigned mend_copies(void);
/* The bytes of a copy, 0 where there are too few; the copy of the last commit, or NULL. */
size_t mend_room(const struct file *manifest);
uint8_t *mend_newest(const struct file *manifest);

/* Checksums of all files, and with `places` also what files say of themselves. */
void mend_all(struct image *image, bool places);

#endif
