/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lives in a process of their own, in front of a disk that fails (../support/faulty_io.c): the
 * program that calls drive starts itself again with the library of faults, and its main() hands
 * such a start to drive_main.
 */
#ifndef TESTS_DRIVE_H
#define TESTS_DRIVE_H

#include "life.h"

enum { DRIVE_CUT = 137 };

/* What to do to a life: the environment of the library of faults. */
struct fault {
    const char *mode;
    const char *calls; /* NULL: all */
    unsigned at;
    unsigned times;
    int error;
    uint64_t seed;
};

/* A place to work in: the sieve is a directory in it, so that making it is seen too. */
struct place {
    struct test_directory root;
    struct test_directory shadow;
    char path[300];
    char copy[300];
    char report[300];
    struct ledger ledger;
};
void place_make(struct place *place, const struct story *story);
void place_free(struct place *place);

/* Where the library of faults is. */
extern const char *drive_faulty_io;

/* One life. Returns its exit status; `struck` becomes the call that was struck, or "". */
int drive(struct place *place, uint64_t number, const struct fault *fault, enum life_faults faults,
          char struck[32]);

/* This program, started again with these arguments (at most 6, NULL behind them), in front of the
 * same disk. Returns its exit status. */
int drive_program(const struct place *place, const struct fault *fault, char *const *arguments);

/* main() of the started program where it is one: true, and its exit status. */
bool drive_main(int count, char **arguments, int *status);

#endif
