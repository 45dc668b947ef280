/* SPDX-License-Identifier: Apache-2.0 */
#include "command/sieve/sieve_plan.h"

#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Text ------------------------------------------------------------------------------------ */

static uint64_t whole(double value)
{
    return value >= 0x1p63 ? UINT64_C(1) << 63 : value > 0 ? (uint64_t)(value + 0.5) : 0;
}

/* "32 s", "13.5 min", "3.2 h", "5 days". */
static const char *format_time(char text[TOOL_NUMBER_BYTES], double seconds)
{
    static const struct {
        double unit, most;
        const char *name;
    } units[] = {{1, 100, "s"}, {60, 100, "min"}, {3600, 48, "h"}, {86400, 1e300, "days"}};
    size_t i = 0;
    while (i < 3 && seconds >= units[i].unit * units[i].most)
        i++;
    snprintf(text, TOOL_NUMBER_BYTES, "%.3g %s", seconds / units[i].unit, units[i].name);
    return text;
}

static void line(struct tool_out *out, const char *name, const char *value, const char *note)
{
    tool_out_format(out, "  %-22s%16s%s%s\n", name, value, note[0] != '\0' ? "  " : "", note);
}

static void size_line(struct tool_out *out, const char *name, double bytes, const char *note)
{
    char text[TOOL_NUMBER_BYTES];
    line(out, name, tool_format_size(text, whole(bytes)), note);
}

static void print_title(struct tool_out *out, const struct tool_sieve_wish *wish)
{
    char keys[TOOL_NUMBER_BYTES], pushes[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES];
    const bloomery_sieve_plan *plan = &wish->plan;
    tool_out_format(out, "A sieve of %s different keys, %s pushes, %g bytes a key",
                    tool_format_count(keys, plan->keys), tool_format_count(pushes, plan->pushes),
                    plan->key_bytes);
    if (wish->memory > 0)
        tool_out_format(out, ", a process of %s bytes\n\n",
                        tool_format_count(memory, wish->memory));
    else
        tool_out_text(out, "\n\n");
}

static void print_disk_engine(struct tool_out *out, const struct tool_sieve_wish *wish)
{
    char text[TOOL_NUMBER_BYTES], note[2 * TOOL_NUMBER_BYTES], number[TOOL_NUMBER_BYTES];
    const bloomery_sieve_plan *plan = &wish->plan;
    tool_out_text(out, "disk engine: memory\n");
    if (wish->memory > 0)
        size_line(out, "process", (double)(wish->memory - plan->memory),
                  "libraries, the command and its buffers, about");
    size_line(out, "sieve", (double)plan->memory, "");
    snprintf(note, sizeof(note), "with %s partition%s", tool_format_count(number, plan->partitions),
             plan->partitions == 1 ? "" : "s");
    size_line(out, "  at least", (double)plan->min_memory, note);
    line(out, "  a batch", tool_format_count(text, plan->batch),
         "pushes of a partition, decided together");
    line(out, "  pending at most", tool_format_count(text, plan->pending_max),
         "pushes; half of it on average");
    tool_out_text(out, "disk\n");
    snprintf(note, sizeof(note), "%.3g bytes a key", plan->seen_disk / (double)plan->keys);
    size_line(out, "what was seen", plan->seen_disk, note);
    size_line(out, "pending, at most", plan->pending_disk, "");
    size_line(out, "queue", plan->queue_disk, "where nobody pops");
    tool_out_text(out, "read and written, all together\n");
    size_line(out, "what was seen", plan->seen_traffic, "");
    size_line(out, "pending", plan->pending_traffic, "");
    size_line(out, "queue", plan->queue_traffic, "");
    snprintf(note, sizeof(note), "at %s a second: %s pushes a second",
             tool_format_size(number, whole(plan->disk_speed)),
             tool_format_count(text, plan->seconds > 0 ? whole((double)plan->pushes / plan->seconds)
                                                       : 0));
    line(out, "time for the disk", format_time(number, plan->seconds), note);
    line(out, "a whole flush", format_time(text, plan->flush_seconds), "");
    tool_out_text(out, "answers\n");
    if (plan->wrong_drops < 1000)
        tool_format_rate(text, plan->wrong_drops);
    else
        tool_format_count(text, whole(plan->wrong_drops));
    line(out, "wrong drops", text, "new keys, expected");
}

static void print_without_disk(struct tool_out *out, const struct tool_sieve_wish *wish)
{
    char note[2 * TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES];
    const bloomery_sieve_plan *plan = &wish->plan;
    tool_out_text(out, "without a disk\n");
    snprintf(note, sizeof(note), "at a rate of %s", tool_format_odds(odds, plan->rate));
    size_line(out, "memory engine", plan->filter_bytes, note);
    size_line(out, "any structure", plan->limit_bytes, "the least that there can be at that rate");
    snprintf(note, sizeof(note), "of the new keys dropped, at best, in the memory of the sieve");
    snprintf(rate, sizeof(rate), "%.3g %%", 100 * plan->budget_rate);
    line(out, "", rate, note);
}

static int print_text(const struct tool_sieve_wish *wish)
{
    struct tool_out out;
    tool_out_start(&out);
    print_title(&out, wish);
    print_disk_engine(&out, wish);
    print_without_disk(&out, wish);
    return tool_out_finish(&out, TOOL_FOUND);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static int print_json(const struct tool_sieve_wish *wish)
{
    const bloomery_sieve_plan *plan = &wish->plan;
    json_t *object = tool_json_report("plan");
    tool_json_add(object, "keys", tool_json_count(plan->keys));
    tool_json_add(object, "pushes", tool_json_count(plan->pushes));
    tool_json_add(object, "process_memory",
                  wish->memory > 0 ? tool_json_count(wish->memory) : tool_json_null());
    tool_json_add(object, "memory", tool_json_count(plan->memory));
    tool_json_add(object, "least_memory", tool_json_count(plan->min_memory));
    tool_json_add(object, "key_bytes", tool_json_number(plan->key_bytes));
    tool_json_add(object, "rate", tool_json_number(plan->rate));
    tool_json_add(object, "fingerprint_bits", tool_json_count(plan->fingerprint_bits));
    tool_json_add(object, "partitions", tool_json_count(plan->partitions));
    tool_json_add(object, "cache_hit", tool_json_number(plan->cache_hit));
    tool_json_add(object, "disk_speed", tool_json_number(plan->disk_speed));
    tool_json_add(object, "batch", tool_json_count(plan->batch));
    tool_json_add(object, "pending_most", tool_json_count(plan->pending_max));
    tool_json_add(object, "seen_disk", tool_json_number(plan->seen_disk));
    tool_json_add(object, "pending_disk", tool_json_number(plan->pending_disk));
    tool_json_add(object, "queue_disk", tool_json_number(plan->queue_disk));
    tool_json_add(object, "seen_traffic", tool_json_number(plan->seen_traffic));
    tool_json_add(object, "pending_traffic", tool_json_number(plan->pending_traffic));
    tool_json_add(object, "queue_traffic", tool_json_number(plan->queue_traffic));
    tool_json_add(object, "seconds", tool_json_number(plan->seconds));
    tool_json_add(object, "flush_seconds", tool_json_number(plan->flush_seconds));
    tool_json_add(object, "wrong_drops", tool_json_number(plan->wrong_drops));
    tool_json_add(object, "filter_bytes", tool_json_number(plan->filter_bytes));
    tool_json_add(object, "limit_bytes", tool_json_number(plan->limit_bytes));
    tool_json_add(object, "budget_rate", tool_json_number(plan->budget_rate));
    return tool_json_print(object, TOOL_FOUND);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Too little for the sieve after what the process takes: prints the minimum for all together. */
static int refuse(const struct tool_sieve_wish *wish, const bloomery_error *error)
{
    char given[TOOL_NUMBER_BYTES], least[TOOL_NUMBER_BYTES];
    const uint64_t share = TOOL_SIEVE_SHARE;
    bloomery_sieve_plan plan = wish->plan;
    plan.memory = 0;
    if (wish->memory == 0 || bloomery_sieve_plan_solve(&plan, NULL) != BLOOMERY_OK ||
        plan.min_memory + share <= wish->memory)
        return tool_library_error(NULL, error);
    tool_error("--memory %s bytes is too little: the process takes 4 MB itself, and the least that "
               "works is %s bytes",
               tool_format_count(given, wish->memory),
               tool_format_count(least, (plan.min_memory + share + 99999) / 100000 * 100000));
    return TOOL_ERROR;
}

int tool_sieve_plan(struct tool_sieve_wish *wish)
{
    bloomery_error error = {0};
    const uint64_t share = TOOL_SIEVE_SHARE;
    if (wish->plan.keys == 0)
        return tool_usage("how many different keys? --sieve needs -n");
    if (wish->memory > 0)
        wish->plan.memory = wish->memory > share ? wish->memory - share : 1;
    if (bloomery_sieve_plan_solve(&wish->plan, &error) != BLOOMERY_OK)
        return refuse(wish, &error);
    return wish->json ? print_json(wish) : print_text(wish);
}
