/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts and sizes are read exactly, in 128-bit integers. A number of keys or bytes that went
 * through a double would be another number above 2^53. Rates are read with strtod, which rounds
 * correctly; it and printf follow the "C" locale, since this program never calls setlocale.
 */
#include "base/numbers.h"

#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading --------------------------------------------------------------------------------- */

typedef unsigned __int128 wide;

/* digits x 10^exponent, `digits` without the point. */
struct decimal {
    uint64_t digits;
    int exponent;
};

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

/* Whether the comma at `text` groups digits as our own output does: behind one to three, or another
 * group, and before exactly three. `group`: digits since the last comma. */
static bool is_grouping(const char *text, int group, bool first)
{
    return *text == ',' && (first ? group >= 1 && group <= 3 : group == 3) && is_digit(text[1]) &&
           is_digit(text[2]) && is_digit(text[3]) && !is_digit(text[4]);
}

/* One run of digits. Between two of them an underscore is allowed, between thousands a comma. */
static const char *read_digits(const char *text, struct decimal *number, int *count)
{
    int group = 0;
    bool first = true;
    *count = 0;
    while (is_digit(*text) || is_grouping(text, group, first) ||
           (*text == '_' && *count > 0 && is_digit(text[-1]) && is_digit(text[1]))) {
        group = *text == ',' ? 0 : group + 1;
        first = first && *text != ',';
        if (*text != '_' && *text != ',') {
            uint64_t digit = (uint64_t)(*text - '0');
            if (__builtin_mul_overflow(number->digits, 10, &number->digits) ||
                __builtin_add_overflow(number->digits, digit, &number->digits))
                return NULL;
            ++*count;
        }
        text++;
    }
    return text;
}

/* "12", "1_000", "1,000", "1.5", ".5", "2e9", "1.5e+3". Returns the first letter behind, or NULL.
 */
static const char *read_decimal(const char *text, struct decimal *number)
{
    int whole = 0, fraction = 0;
    *number = (struct decimal){0, 0};
    text = read_digits(text, number, &whole);
    if (text != NULL && *text == '.')
        text = read_digits(text + 1, number, &fraction);
    if (text == NULL || whole + fraction == 0)
        return NULL;
    number->exponent = -fraction;

    bool power_follows = *text == 'e' || *text == 'E';
    bool minus = power_follows && text[1] == '-';
    bool sign = minus || (power_follows && text[1] == '+');
    if (power_follows && is_digit(text[sign ? 2 : 1])) {
        int power = 0;
        for (text += sign ? 2 : 1; is_digit(*text); text++) {
            power = power * 10 + (*text - '0');
            if (power > 1000)
                return NULL;
        }
        number->exponent += minus ? -power : power;
    }
    return text;
}

/* number x unit, whole or (if `cut`) with the fraction cut off. */
static bool scale(struct decimal number, uint64_t unit, bool cut, uint64_t *value)
{
    wide product = (wide)number.digits * unit;
    for (; number.exponent > 0 && product != 0; number.exponent--) {
        if (product > UINT64_MAX)
            return false;
        product *= 10;
    }
    for (; number.exponent < 0 && product != 0; number.exponent++) {
        if (!cut && product % 10 != 0)
            return false;
        product /= 10;
    }
    if (product > UINT64_MAX)
        return false;
    *value = (uint64_t)product;
    return true;
}

/* The power of 1000 or 1024 that a letter stands for; 0: none. */
static int power_of(char letter)
{
    static const char letters[] = "kmgtp";
    const char *found = letter == '\0' ? NULL : strchr(letters, letter | 0x20);
    return found == NULL ? 0 : (int)(found - letters) + 1;
}

static uint64_t unit_of(uint64_t base, int power)
{
    uint64_t unit = 1;
    for (int i = 0; i < power; i++)
        unit *= base;
    return unit;
}

bool tool_parse_count(const char *text, uint64_t *value)
{
    struct decimal number;
    text = read_decimal(text, &number);
    if (text == NULL)
        return false;
    int power = *text == 'm' ? 0 : power_of(*text); /* a small m is a thousandth elsewhere */
    if (text[power > 0 ? 1 : 0] != '\0')
        return false;
    return scale(number, unit_of(1000, power), false, value);
}

bool tool_parse_size(const char *text, uint64_t *value)
{
    struct decimal number;
    text = read_decimal(text, &number);
    if (text == NULL)
        return false;
    text += text[0] == ' ' && text[1] != '\0'; /* "36.2 MiB", as it is printed */
    int power = power_of(*text);
    text += power > 0 ? 1 : 0;
    uint64_t base = 1024;
    if (power > 0 && (*text == 'i' || *text == 'I')) {
        if ((text[1] | 0x20) != 'b')
            return false;
        text += 2;
    } else if ((*text | 0x20) == 'b') {
        base = 1000;
        text += 1;
    }
    return *text == '\0' && scale(number, unit_of(base, power), true, value);
}

bool tool_parse_rate(const char *text, double *value)
{
    const char *slash = strchr(text, '/');
    uint64_t odds;
    if (slash != NULL) { /* "1/1000": two counts */
        uint64_t over;
        char head[TOOL_NUMBER_BYTES];
        const int length = snprintf(head, sizeof(head), "%.*s", (int)(slash - text), text);
        if (length >= (int)sizeof(head) || !tool_parse_count(head, &over) ||
            !tool_parse_count(slash + 1, &odds) || odds == 0)
            return false;
        *value = (double)over / (double)odds;
        return true;
    }
    if (strncmp(text, "1 in ", 5) == 0) { /* as it is printed */
        if (!tool_parse_count(text + 5, &odds) || odds == 0)
            return false;
        *value = 1 / (double)odds;
        return true;
    }

    /* What strtod would also take: blanks, signs, hexadecimal, "inf", "nan". */
    size_t plain = strspn(text, "0123456789.eE+-");
    if (!(is_digit(*text) || *text == '.'))
        return false;
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (end != text + plain || plain == 0 || !isfinite(parsed))
        return false;
    if (end[0] == ' ' && end[1] == '%')
        end++;
    if (*end == '%') {
        parsed /= 100;
        end++;
    }
    if (*end != '\0')
        return false;
    *value = parsed;
    return true;
}

/* ---- Reading the values of options ----------------------------------------------------------- */

/* A number that starts with a minus gets the sentence about the range, not the one about letters.
 */
static bool looks_numeric(const char *text)
{
    return is_digit(*text) || ((*text == '-' || *text == '+' || *text == '.') && is_digit(text[1]));
}

/* Returns whether a text is a number followed by letters that are not a unit. */
static bool has_bad_suffix(const char *text)
{
    struct decimal number;
    text = read_decimal(text, &number);
    if (text == NULL || (*text | 0x20) < 'a' || (*text | 0x20) > 'z')
        return false;
    return *text == 'm' || power_of(*text) == 0 || text[1] != '\0';
}

/* Whether a comma is what is wrong with a number. Prints that. */
static bool has_comma(const char *option, const char *text)
{
    if (!looks_numeric(text) || strchr(text, ',') == NULL)
        return false;
    tool_usage("%s %s: a point, not a comma, begins a fraction, as in 1.5", option, text);
    return true;
}

bool tool_option_count(const char *option, const char *text, uint64_t least, uint64_t most,
                       uint64_t *value)
{
    uint64_t parsed = 0;
    bool good = tool_parse_count(text, &parsed);
    if (good && parsed >= least && parsed <= most) {
        *value = parsed;
        return true;
    }
    char from[TOOL_NUMBER_BYTES], to[TOOL_NUMBER_BYTES];
    if (has_comma(option, text))
        return false;
    tool_format_count(from, least);
    tool_format_count(to, most);
    if (!good && has_bad_suffix(text))
        tool_usage("%s '%s': what follows the number must be k, M, G or T", option, text);
    else if (good || looks_numeric(text))
        tool_usage("%s %s: must be a whole number from %s to %s", option, text, from, to);
    else
        tool_usage("%s '%s' is not a number; it takes %s to %s%s", option, text, from, to,
                   most < 1000000000 ? "" : ", such as 20000000, 20M or 1e9");
    return false;
}

bool tool_option_small(const char *option, const char *text, uint32_t least, uint32_t most,
                       uint32_t *value)
{
    uint64_t parsed;
    if (!tool_option_count(option, text, least, most, &parsed))
        return false;
    *value = (uint32_t)parsed;
    return true;
}

bool tool_option_size(const char *option, const char *text, uint64_t *value)
{
    uint64_t parsed = 0;
    bool good = tool_parse_size(text, &parsed);
    if (good && parsed >= 1 && parsed <= TOOL_MEMORY_MAX) {
        *value = parsed;
        return true;
    }
    if (has_comma(option, text))
        return false;
    if (good || looks_numeric(text))
        tool_usage("%s %s: must be a size from 1 byte to 128 TiB, such as 512MiB or 2GB", option,
                   text);
    else
        tool_usage("%s '%s' is not a size; it takes bytes, 512MiB, 2GB and the like", option, text);
    return false;
}

bool tool_option_rate(const char *option, const char *text, double *value)
{
    double parsed = 0;
    bool good = tool_parse_rate(text, &parsed);
    if (good && parsed >= TOOL_RATE_MIN && parsed < 1) {
        *value = parsed;
        return true;
    }
    if (has_comma(option, text))
        return false;
    if (good || looks_numeric(text))
        tool_usage("%s %s: a rate is from 1e-15 to below 1, such as 0.01, 1e-6, 0.01%% or 1/1000",
                   option, text);
    else
        tool_usage("%s '%s' is not a rate; it takes 0.01, 1e-6, 0.01%%, 1/1000 and the like",
                   option, text);
    return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

const char *tool_format_count(char *buffer, uint64_t value)
{
    char digits[24];
    int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);
    char *to = buffer;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}

const char *tool_format_size(char *buffer, uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(buffer, TOOL_NUMBER_BYTES, "%u byte%s", (unsigned)bytes, bytes == 1 ? "" : "s");
        return buffer;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        unit++;
    }
    /* Three significant digits, "1.00" to "1023". */
    const int places = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    assert(value >= 1023.5 / 1024 && value < 1024);
    snprintf(buffer, TOOL_NUMBER_BYTES, "%.*f %s", places, value, units[unit]);
    return buffer;
}

const char *tool_format_duration(char *buffer, double seconds)
{
    const unsigned long long whole =
        seconds >= 1e15 ? 1000000000000000 : (unsigned long long)seconds;
    if (whole < 60)
        snprintf(buffer, TOOL_NUMBER_BYTES, "%llu s", whole);
    else if (whole < 3600)
        snprintf(buffer, TOOL_NUMBER_BYTES, "%llu min %llu s", whole / 60, whole % 60);
    else if (whole < 172800) /* two days */
        snprintf(buffer, TOOL_NUMBER_BYTES, "%llu h %llu min", whole / 3600, whole / 60 % 60);
    else
        snprintf(buffer, TOOL_NUMBER_BYTES, "%llu days %llu h", whole / 86400, whole / 3600 % 24);
    return buffer;
}

const char *tool_format_odds(char *buffer, double rate)
{
    double one_in = 1 / rate;
    if (!(rate > 0)) {
        snprintf(buffer, TOOL_NUMBER_BYTES, "never");
    } else if (rate >= 1) {
        snprintf(buffer, TOOL_NUMBER_BYTES, "always");
    } else if (one_in < 99.95) {
        snprintf(buffer, TOOL_NUMBER_BYTES, "1 in %.3g", one_in);
    } else if (one_in < 1e18) {
        double step = pow(10, floor(log10(one_in)) - 2);
        char number[TOOL_NUMBER_BYTES];
        tool_format_count(number, (uint64_t)(round(one_in / step) * step + 0.5));
        snprintf(buffer, TOOL_NUMBER_BYTES, "1 in %.40s", number);
    } else {
        snprintf(buffer, TOOL_NUMBER_BYTES, "1 in %.3g", one_in);
    }
    return buffer;
}

const char *tool_format_rate(char *buffer, double rate)
{
    snprintf(buffer, TOOL_NUMBER_BYTES, "%.3g", rate);
    return buffer;
}

const char *tool_format_exact(char *buffer, double value)
{
    assert(buffer != NULL); /* which gcc doubts when it instruments this loop */
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buffer, TOOL_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    return buffer;
}

/* The meaning of a unit; 0: there is none of this name. */
static double seconds_of(const char *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1},     {"s", 1},    {"ms", 1e-3}, {"m", 60},
                 {"min", 60}, {"h", 3600}, {"d", 86400}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].seconds;
    return 0;
}

bool tool_option_seconds(const char *option, const char *text, double min, double *seconds)
{
    char *end = NULL;
    const bool number = is_digit(text[0]) || text[0] == '.';
    const double value = number && strpbrk(text, "xX") == NULL ? strtod(text, &end) : -1;
    const double found = end != NULL && end != text ? value * seconds_of(end) : -1;
    const bool known = end != NULL && end != text && seconds_of(end) > 0;
    if (known && found >= min && (found > 0 || min == 0) && found <= 1e9) {
        *seconds = found;
        return true;
    }
    return !tool_usage("%s %s: must be %sa number of seconds over 0 and up to 1e9, or with a unit: "
                       "500ms, 30s, 5m, 1h, 2d",
                       option, text, min == 0 ? "0, " : "");
}
