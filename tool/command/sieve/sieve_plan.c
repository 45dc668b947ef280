/* SPDX-License-Identifier: Apache-2.0 */
/* plan --sieve: the costs of a sieve before it is made. */
#include "base/numbers.h"
#include "base/report.h"
#include "command/sieve/sieve_command.h"
#include "tool.h"

#include <stdio.h>

/* ---- The report ------------------------------------------------------------------------------ */

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

static void add_size(struct tool_report *report, const char *label, double bytes)
{
    tool_fact(report, NULL, label, tool_size(whole(bytes)));
}

/* The facts of the text. */
static void say_disk_engine(struct tool_report *report, const struct tool_sieve_wish *wish)
{
    const bloomery_sieve_plan *plan = &wish->plan;
    tool_report_line(report, "disk engine: memory");
    if (wish->memory > 0) {
        tool_fact(report, NULL, "process", tool_size(wish->memory - plan->memory));
        tool_fact_note(report, "libraries, the command and its buffers, about");
    }
    tool_fact(report, NULL, "sieve", tool_size(plan->memory));
    tool_fact(report, NULL, "  at least", tool_size(plan->min_memory));
    tool_fact_note(report, "with %s partition%s", TOOL_SAY_COUNT(plan->partitions),
                   plan->partitions == 1 ? "" : "s");
    tool_fact(report, NULL, "  a batch", tool_count(plan->batch));
    tool_fact_note(report, "pushes per partition, decided together");
    tool_fact(report, NULL, "  pending at most", tool_count(plan->pending_max));
    tool_fact_note(report, "pushes; half of it on average");
    tool_report_line(report, "disk");
    add_size(report, "seen keys", plan->seen_disk);
    tool_fact_note(report, "%.3g bytes per key", plan->seen_disk / (double)plan->keys);
    add_size(report, "pending, at most", plan->pending_disk);
    add_size(report, "queue", plan->queue_disk);
    tool_fact_note(report, "if nothing is popped");
    tool_report_line(report, "total reads and writes");
    add_size(report, "seen keys", plan->seen_traffic);
    add_size(report, "pending", plan->pending_traffic);
    add_size(report, "queue", plan->queue_traffic);
    const double speed = plan->seconds > 0 ? (double)plan->pushes / plan->seconds : 0;
    tool_fact_say(report, "disk time", "%s", format_time(TOOL_SAY_BUFFER, plan->seconds));
    tool_fact_note(report, "at %s per second; that is %s pushes per second",
                   TOOL_SAY_SIZE(whole(plan->disk_speed)), TOOL_SAY_COUNT(whole(speed)));
    tool_fact_say(report, "a full flush", "%s", format_time(TOOL_SAY_BUFFER, plan->flush_seconds));
    tool_report_line(report, "answers");
    tool_fact(report, NULL, "wrong drops",
              plan->wrong_drops < 1000 ? tool_number(plan->wrong_drops)
                                       : tool_count(whole(plan->wrong_drops)));
    tool_fact_note(report, "expected number of new keys that are dropped");
}

static int print_plan(const struct tool_sieve_wish *wish)
{
    static const struct tool_report_form form = {.indent = 2, .label = 22, .value = 16};
    const bloomery_sieve_plan *plan = &wish->plan;
    struct tool_report *report = tool_report_start("plan", form);
    tool_report_line(report, "A sieve for %s distinct keys, %s pushes, %g bytes per key%s%s%s",
                     TOOL_SAY_COUNT(plan->keys), TOOL_SAY_COUNT(plan->pushes), plan->key_bytes,
                     wish->memory > 0 ? ", in a process of " : "",
                     wish->memory > 0 ? TOOL_SAY_COUNT(wish->memory) : "",
                     wish->memory > 0 ? " bytes" : "");
    tool_report_blank(report);
    say_disk_engine(report, wish);
    tool_report_line(report, "without a disk");
    add_size(report, "memory engine", plan->filter_bytes);
    tool_fact_note(report, "at a rate of %s", TOOL_SAY_ODDS(plan->rate));
    add_size(report, "lower bound", plan->limit_bytes);
    tool_fact_note(report, "the information-theoretic minimum at that rate");
    tool_fact_say(report, "", "%.3g %%", 100 * plan->budget_rate);
    tool_fact_note(report, "of new keys that the best structure in the sieve's memory would drop");
    /* JSON has all numbers unrounded, in an order of its own. */
    tool_fact(report, "keys", NULL, tool_count(plan->keys));
    tool_fact(report, "pushes", NULL, tool_count(plan->pushes));
    tool_fact(report, "process_memory", NULL,
              tool_known(wish->memory > 0, tool_size(wish->memory)));
    tool_fact(report, "memory", NULL, tool_size(plan->memory));
    tool_fact(report, "least_memory", NULL, tool_size(plan->min_memory));
    tool_fact(report, "key_bytes", NULL, tool_number(plan->key_bytes));
    tool_fact(report, "rate", NULL, tool_number(plan->rate));
    tool_fact(report, "fingerprint_bits", NULL, tool_count(plan->fingerprint_bits));
    tool_fact(report, "partitions", NULL, tool_count(plan->partitions));
    tool_fact(report, "cache_hit", NULL, tool_number(plan->cache_hit));
    tool_fact(report, "disk_speed", NULL, tool_number(plan->disk_speed));
    tool_fact(report, "batch", NULL, tool_count(plan->batch));
    tool_fact(report, "pending_most", NULL, tool_count(plan->pending_max));
    tool_fact(report, "seen_disk", NULL, tool_number(plan->seen_disk));
    tool_fact(report, "pending_disk", NULL, tool_number(plan->pending_disk));
    tool_fact(report, "queue_disk", NULL, tool_number(plan->queue_disk));
    tool_fact(report, "seen_traffic", NULL, tool_number(plan->seen_traffic));
    tool_fact(report, "pending_traffic", NULL, tool_number(plan->pending_traffic));
    tool_fact(report, "queue_traffic", NULL, tool_number(plan->queue_traffic));
    tool_fact(report, "seconds", NULL, tool_number(plan->seconds));
    tool_fact(report, "flush_seconds", NULL, tool_number(plan->flush_seconds));
    tool_fact(report, "wrong_drops", NULL, tool_number(plan->wrong_drops));
    tool_fact(report, "filter_bytes", NULL, tool_number(plan->filter_bytes));
    tool_fact(report, "limit_bytes", NULL, tool_number(plan->limit_bytes));
    tool_fact(report, "budget_rate", NULL, tool_number(plan->budget_rate));
    return tool_report_print(report, wish->json, TOOL_FOUND);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Too little for the sieve after what the process takes: prints the minimum for all together. */
static int refuse(const struct tool_sieve_wish *wish, const bloomery_error *error)
{
    const uint64_t share = TOOL_SIEVE_SHARE;
    bloomery_sieve_plan plan = wish->plan;
    plan.memory = 0;
    if (wish->memory == 0 || bloomery_sieve_plan_solve(&plan, NULL) != BLOOMERY_OK ||
        plan.min_memory + share <= wish->memory)
        return tool_library_error(NULL, error);
    tool_error("--memory %s bytes is too little: the process itself uses 4 MB, and the minimum "
               "that works is %s bytes",
               TOOL_SAY_COUNT(wish->memory),
               TOOL_SAY_COUNT((plan.min_memory + share + 99999) / 100000 * 100000));
    return TOOL_ERROR;
}

int tool_sieve_plan(struct tool_sieve_wish *wish)
{
    bloomery_error error = {0};
    const uint64_t share = TOOL_SIEVE_SHARE;
    if (wish->plan.keys == 0)
        return tool_usage("no number of distinct keys: --sieve needs -n");
    if (wish->memory > 0)
        wish->plan.memory = wish->memory > share ? wish->memory - share : 1;
    if (bloomery_sieve_plan_solve(&wish->plan, &error) != BLOOMERY_OK)
        return refuse(wish, &error);
    return print_plan(wish);
}
