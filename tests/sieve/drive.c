/* SPDX-License-Identifier: Apache-2.0 */
#include "drive.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char *drive_faulty_io;

void place_make(struct place *place, const struct story *story)
{
    memset(place, 0, sizeof *place);
    place->root = test_directory_make();
    place->shadow = test_directory_make();
    test_join(place->path, sizeof place->path, &place->root, "sieve");
    test_join(place->copy, sizeof place->copy, &place->shadow, "copy");
    test_join(place->report, sizeof place->report, &place->shadow, "report");
    ledger_make(&place->ledger, story);
}

static int remove_entry(const char *path, const struct stat *facts, int sort, struct FTW *where)
{
    (void)facts;
    (void)sort;
    (void)where;
    return remove(path);
}

void place_free(struct place *place)
{
    nftw(place->root.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    nftw(place->shadow.path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    ledger_free(&place->ledger);
}

static void set_number(const char *name, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    setenv(name, text, 1);
}

static void set_environment(const struct place *place, const struct fault *fault)
{
    setenv("LD_PRELOAD", drive_faulty_io, 1);
    setenv("FAULTY_IO_ROOT", place->root.path, 1);
    setenv("FAULTY_IO_SHADOW", place->shadow.path, 1);
    setenv("FAULTY_IO_REPORT", place->report, 1);
    setenv("FAULTY_IO_MODE", fault->mode, 1);
    if (fault->calls != NULL)
        setenv("FAULTY_IO_CALLS", fault->calls, 1);
    set_number("FAULTY_IO_AT", fault->at);
    set_number("FAULTY_IO_TIMES", fault->times);
    set_number("FAULTY_IO_ERRNO", (uint64_t)fault->error);
    set_number("FAULTY_IO_SEED", fault->seed);
}

static _Noreturn void become_life(struct place *place, uint64_t number, const struct fault *fault,
                                  enum life_faults faults)
{
    char program[4096];
    char texts[4][24];
    const struct story *story = place->ledger.story;
    size_t index = 0;
    while (index < LIFE_STORIES && strcmp(life_stories[index].name, story->name) != 0)
        index++;
    snprintf(texts[0], sizeof texts[0], "%zu", index);
    snprintf(texts[1], sizeof texts[1], "%llu", (unsigned long long)story->pushes);
    snprintf(texts[2], sizeof texts[2], "%llu", (unsigned long long)number);
    snprintf(texts[3], sizeof texts[3], "%d", (int)faults);
    char *all[] = {(char *)(uintptr_t)test_emulator(),
                   program,
                   (char *)(uintptr_t) "life",
                   place->path,
                   texts[0],
                   texts[1],
                   texts[2],
                   texts[3],
                   NULL};
    char **arguments = all[0] != NULL ? all : all + 1;
    set_environment(place, fault);
    if (index < LIFE_STORIES && realpath("/proc/self/exe", program) != NULL)
        execvp(arguments[0], arguments);
    _exit(98);
}

bool drive_main(int count, char **arguments, int *status)
{
    if (count != 7 || strcmp(arguments[1], "life") != 0)
        return false;
    struct story story = life_stories[strtoul(arguments[3], NULL, 10) % LIFE_STORIES];
    story.pushes = strtoull(arguments[4], NULL, 10);
    *status = life_live(&story, arguments[2], strtoull(arguments[5], NULL, 10),
                        (enum life_faults)strtoul(arguments[6], NULL, 10), STDOUT_FILENO);
    return true;
}

int drive(struct place *place, uint64_t number, const struct fault *fault, enum life_faults faults,
          char struck[32])
{
    int ends[2];
    int status = 0;
    unlink(place->report);
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        become_life(place, number, fault, faults);
    }
    close(ends[1]);
    ledger_listen(&place->ledger, ends[0], -1);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    struck[0] = '\0';
    const int report = open(place->report, O_RDONLY | O_CLOEXEC);
    if (report >= 0) {
        const ssize_t bytes = read(report, struck, 31);
        struck[bytes > 0 ? bytes : 0] = '\0';
        close(report);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int drive_program(const struct place *place, const struct fault *fault, char *const *arguments)
{
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char program[4096];
        char *all[9] = {(char *)(uintptr_t)test_emulator(), program};
        for (size_t i = 0; i < 6 && arguments[i] != NULL; i++)
            all[2 + i] = arguments[i];
        char **with = all[0] != NULL ? all : all + 1;
        set_environment(place, fault);
        if (realpath("/proc/self/exe", program) != NULL)
            execvp(with[0], with);
        _exit(98);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
