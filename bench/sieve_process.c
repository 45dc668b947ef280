/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has taken, and its arguments: sieve.h. */
#include "sieve.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void sieve_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("sieve: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

double sieve_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct field {
    const char *name;
    uint64_t *to;
    uint64_t unit;
};

/* Numbers behind their names, a line each. */
static void read_fields(const char *path, const struct field *fields)
{
    FILE *file = fopen(path, "r");
    char line[256];
    if (file == NULL)
        sieve_fail("cannot read %s", path);
    while (fgets(line, sizeof line, file) != NULL)
        for (const struct field *field = fields; field->name != NULL; field++)
            if (strncmp(line, field->name, strlen(field->name)) == 0)
                *field->to = strtoull(line + strlen(field->name), NULL, 10) * field->unit;
    fclose(file);
}

struct sieve_process sieve_process_now(void)
{
    struct sieve_process process = {0};
    const struct field status[] = {
        {"VmHWM:", &process.peak, 1024}, {"RssAnon:", &process.anonymous, 1024}, {NULL, NULL, 0}};
    const struct field io[] = {{"rchar:", &process.read, 1},
                               {"wchar:", &process.written, 1},
                               {"read_bytes:", &process.disk_read, 1},
                               {"write_bytes:", &process.disk_written, 1},
                               {NULL, NULL, 0}};
    read_fields("/proc/self/status", status);
    read_fields("/proc/self/io", io);
    return process;
}

uint64_t sieve_directory_bytes(const char *path)
{
    DIR *directory = opendir(path);
    uint64_t bytes = 0;
    if (directory == NULL)
        sieve_fail("cannot read %s", path);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat facts;
        if (fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(facts.st_mode))
            bytes += (uint64_t)facts.st_blocks * 512;
    }
    closedir(directory);
    return bytes;
}

uint64_t sieve_number(const char *text)
{
    char *end;
    double number = strtod(text, &end);
    static const struct {
        char letter;
        double factor;
    } units[] = {{'K', 1e3}, {'M', 1e6}, {'G', 1e9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (*end == units[i].letter) {
            number *= units[i].factor;
            end++;
            break;
        }
    if (*end == 'B')
        end++;
    if (end == text || *end != '\0' || !(number >= 0 && number < 1e15))
        sieve_fail("%s is not a number that can be used here", text);
    return (uint64_t)(number + 0.5);
}

const char *sieve_option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) {
            if (i + 1 == argc)
                sieve_fail("%s needs a value", name);
            return argv[i + 1];
        }
    return otherwise;
}

bool sieve_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

void sieve_check_arguments(int argc, char **argv, const char *const *names)
{
    for (int i = 1; i < argc; i++) {
        const char *const *name = names;
        while (*name != NULL && strcmp(argv[i], *name + (**name == '=')) != 0)
            name++;
        if (*name == NULL)
            sieve_fail("%s is not an option", argv[i]);
        i += **name == '=';
    }
}

FILE *sieve_json(int argc, char **argv)
{
    const char *path = sieve_option(argc, argv, "--json", NULL);
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (path != NULL && file == NULL)
        sieve_fail("cannot write %s", path);
    return file;
}
