/* SPDX-License-Identifier: Apache-2.0 */
#include "faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *fault_library;

void faulty_disk_make(struct faulty_disk *disk)
{
    disk->root = test_directory_make();
    disk->shadow = test_directory_make();
    test_join(disk->report, sizeof disk->report, &disk->shadow, "report");
}

void faulty_disk_free(const struct faulty_disk *disk)
{
    test_directory_remove(&disk->root);
    test_directory_remove(&disk->shadow);
}

static void set_number(const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

static void set_environment(const struct faulty_disk *disk, const struct fault *fault)
{
    setenv("LD_PRELOAD", fault_library, 1);
    setenv("FAULTY_IO_ROOT", disk->root.path, 1);
    setenv("FAULTY_IO_SHADOW", disk->shadow.path, 1);
    setenv("FAULTY_IO_REPORT", disk->report, 1);
    setenv("FAULTY_IO_MODE", fault->mode, 1);
    if (fault->calls != NULL)
        setenv("FAULTY_IO_CALLS", fault->calls, 1);
    if (fault->plain)
        setenv("FAULTY_IO_PLAIN", "1", 1);
    set_number("FAULTY_IO_AT", fault->at);
    set_number("FAULTY_IO_TIMES", fault->times);
    set_number("FAULTY_IO_ERRNO", (uint64_t)fault->error);
    set_number("FAULTY_IO_SEED", fault->seed);
}

pid_t fault_start(const struct faulty_disk *disk, const struct fault *fault, char *const *arguments,
                  int *output)
{
    enum { MOST = 6 };
    char program[4096];
    char *all[MOST + 3] = {(char *)(uintptr_t)test_emulator(), program};
    char **with = all[0] != NULL ? all : all + 1;
    int ends[2] = {-1, -1};
    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert_true(i < MOST);
        all[2 + i] = arguments[i];
    }
    assert_non_null(realpath("/proc/self/exe", program));
    assert_true(output == NULL || pipe(ends) == 0);
    unlink(disk->report);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (output != NULL) {
            dup2(ends[1], STDOUT_FILENO);
            close(ends[0]);
            close(ends[1]);
        }
        set_environment(disk, fault);
        execvp(with[0], with);
        _exit(98);
    }
    if (output != NULL) {
        close(ends[1]);
        *output = ends[0];
    }
    return child;
}

int fault_end(const struct faulty_disk *disk, pid_t child, char struck[32])
{
    const int status = test_wait(child);
    struck[0] = '\0';
    FILE *report = fopen(disk->report, "re");
    if (report == NULL)
        return status;
    struck[fread(struck, 1, 31, report)] = '\0';
    fclose(report);
    return status;
}
