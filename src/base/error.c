/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. */
#include "base/error.h"
#include "base/system.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the UTF-8 character that begins here; 1 if none does. */
static size_t utf8_bytes(const unsigned char *text)
{
    const size_t bytes = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 1;
    return bytes;
}

/* The paths and names in a sentence come from others, and a terminal obeys control characters: each
 * becomes '?'. Those from 0x80 on are two bytes in UTF-8, or one of another encoding. */
static void make_printable(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t bytes = utf8_bytes(at);
        const bool control =
            bytes == 1 ? *at < 0x20 || (*at >= 0x7f && *at < 0xa0) : at[0] == 0xc2 && at[1] < 0xa0;
        if (control)
            memset(at, '?', bytes);
        at += bytes;
    }
}

bloomery_status bloomery_fail(bloomery_error *error, bloomery_status status, uint64_t offset,
                              const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        error->status = status;
        error->offset = offset;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        make_printable(error->text);
    }
    return status;
}

bloomery_status bloomery_fail_system(bloomery_error *error, int error_number, const char *format,
                                     ...)
{
    if (error != NULL) {
        va_list arguments;
        char reason[80];
        const char *text = bloomery_reason(error_number, reason, sizeof reason);
        error->status = BLOOMERY_IO_FAILED;
        error->offset = 0;
        va_start(arguments, format);
        int length = vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        /* The reason stays whole: of a text that is too long the end goes. */
        const size_t most = sizeof error->text - 1 - 2 - strlen(text);
        const size_t kept = length < 0 ? 0 : (size_t)length < most ? (size_t)length : most;
        snprintf(error->text + kept, sizeof error->text - kept, ": %s", text);
        make_printable(error->text);
    }
    return BLOOMERY_IO_FAILED;
}

/* ---- Rates, sizes and limits in sentences ---------------------------------------------------- */

const char *bloomery_phrase_rate(struct bloomery_phrase *phrase, double rate)
{
    if (!(rate > 0))
        snprintf(phrase->text, sizeof phrase->text, "0");
    else if (rate < 1e-300) /* of a subnormal number 1 / rate is infinite */
        snprintf(phrase->text, sizeof phrase->text, "less than 1 in 1e+300");
    else if (rate < 1e-15) /* digits past those that a double has, and past the room there is */
        snprintf(phrase->text, sizeof phrase->text, "1 in %.3g", 1 / rate);
    else if (rate < 0.1)
        snprintf(phrase->text, sizeof phrase->text, "1 in %.0f", round(1 / rate));
    else if (rate > 0.9999)
        snprintf(phrase->text, sizeof phrase->text, "over 99.99 %%");
    else
        snprintf(phrase->text, sizeof phrase->text, "%d.%d %%", (int)(rate * 1000) / 10,
                 (int)(rate * 1000) % 10);
    return phrase->text;
}

const char *bloomery_phrase_bytes(struct bloomery_phrase *phrase, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    uint64_t unit = 1024;
    unsigned i = 0;
    if (bytes < 10240) {
        snprintf(phrase->text, sizeof phrase->text, "%llu bytes", (unsigned long long)bytes);
        return phrase->text;
    }
    while (i < 3 && bytes / 1024 >= unit) {
        unit *= 1024;
        i++;
    }
    uint64_t hundredths = (uint64_t)ceil((double)bytes * 100 / (double)unit);
    snprintf(phrase->text, sizeof phrase->text, "%llu.%02llu %s",
             (unsigned long long)(hundredths / 100), (unsigned long long)(hundredths % 100),
             units[i]);
    return phrase->text;
}

/* Limits are mostly whole numbers: "300 MiB". */
static const char *phrase_whole(struct bloomery_phrase *phrase, uint64_t bytes)
{
    bloomery_phrase_bytes(phrase, bytes);
    char *zeros = strstr(phrase->text, ".00 ");
    if (zeros != NULL)
        memmove(zeros, zeros + 3, strlen(zeros + 3) + 1);
    return phrase->text;
}

static void phrase_left(bloomery_limits *limits, const char *which, uint64_t limit, uint64_t left)
{
    struct bloomery_phrase all, rest;
    limits->room = left;
    snprintf(limits->text, sizeof limits->text, "%s of %s leaves %s", which,
             phrase_whole(&all, limit), phrase_whole(&rest, left));
}

void bloomery_phrase_limits(bloomery_limits *limits)
{
    struct bloomery_phrase all;
    limits->room = limits->machine;
    snprintf(limits->text, sizeof limits->text, "this machine has %s of memory",
             phrase_whole(&all, limits->machine));
    const uint64_t spare = limits->container == UINT64_MAX
                               ? UINT64_MAX
                               : bloomery_limits_spare(limits->container, limits->container_left);
    if (spare < limits->room)
        phrase_left(limits, "the container's memory limit", limits->container, spare);
    if (limits->process_left < limits->room)
        phrase_left(limits, "the process's memory limit (ulimit -v, -d)", limits->process,
                    limits->process_left);
}

const char *bloomery_phrase_limit(struct bloomery_phrase_limit *phrase,
                                  const bloomery_allocator *allocator, uint64_t bytes)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    phrase->text[0] = '\0';
    if (allocator->allocate != NULL || allocator->allocate_zeroed != NULL)
        return phrase->text;
    bloomery_limits_read(bloomery_limits_root(), &limits);
    bloomery_phrase_limits(&limits);
    if (bytes > limits.room)
        snprintf(phrase->text, sizeof phrase->text, ": %s", limits.text);
    return phrase->text;
}

bloomery_status bloomery_fail_memory(bloomery_error *error, const bloomery_allocator *allocator,
                                     const char *what, uint64_t bytes)
{
    struct bloomery_phrase_limit limit;
    return bloomery_fail(
        error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory for %s of %llu bytes%s", what,
        (unsigned long long)bytes, bloomery_phrase_limit(&limit, allocator, bytes));
}
