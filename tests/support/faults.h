/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in front of a disk that fails (faulty_io.c). A test starts itself again, with the
 * library of faults preloaded and other arguments, as the program that does the work; then it looks
 * at what that one left. It does so for one call after the other, until none is left to strike.
 */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include "support.h"

#include <sys/types.h>

/* The exit status of a program whose power was cut. */
enum { FAULT_CUT = 137 };

/* What to do to a program: the environment of the library of faults. */
struct fault {
    const char *mode;
    const char *calls; /* NULL: all */
    unsigned at;
    unsigned times; /* FAULT_STICKY: this call and all after it */
    int error;
    bool plain; /* no unnamed files */
    uint64_t seed;
};
#define FAULT_STICKY UINT32_MAX

/* The directory that the library watches, and one for its own files. */
struct faulty_disk {
    struct test_directory root;
    struct test_directory shadow;
    char report[300]; /* receives the name of the call that was struck */
};
void faulty_disk_make(struct faulty_disk *disk);
void faulty_disk_free(const struct faulty_disk *disk);

/* The path of the library of faults. */
extern const char *fault_library;

/* Starts this program with these arguments, NULL behind them. `output`, unless NULL, receives the
 * end of a pipe from its standard output. */
pid_t fault_start(const struct faulty_disk *disk, const struct fault *fault, char *const *arguments,
                  int *output);

/* Waits for its end. Returns its exit status (-1: a signal); `struck` becomes the call that was
 * struck, or "". */
int fault_end(const struct faulty_disk *disk, pid_t child, char struck[32]);

#endif
