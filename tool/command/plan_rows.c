/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plan_rows.h"

#include <stdio.h>

/* The rows there are: every kind of this version, blocked and counting with every number of blocks.
 * Scalable ones only by name: they are not for a known number of keys. */
static const struct {
    bloomery_kind kind;
    uint32_t blocks;
} shapes[] = {
    {BLOOMERY_BLOCKED, 1},  {BLOOMERY_BLOCKED, 2},  {BLOOMERY_BLOCKED, 3},  {BLOOMERY_BLOCKED, 4},
    {BLOOMERY_CLASSIC, 0},  {BLOOMERY_COUNTING, 1}, {BLOOMERY_COUNTING, 2}, {BLOOMERY_COUNTING, 3},
    {BLOOMERY_COUNTING, 4}, {BLOOMERY_SCALABLE, 0}, {BLOOMERY_STATIC, 0},
};

_Static_assert(sizeof(shapes) / sizeof(shapes[0]) == TOOL_PLAN_ROWS, "a row for each shape");

const char *tool_plan_kind_name(const struct tool_plan_row *row)
{
    return bloomery_kind_name((int)row->kind);
}

const char *tool_plan_full_name(char *name, const struct tool_plan_row *row)
{
    char blocks[32] = "";
    if (row->blocks > 0)
        snprintf(blocks, sizeof(blocks), " with %u block%s", row->blocks,
                 row->blocks == 1 ? "" : "s");
    snprintf(name, TOOL_PLAN_NAME_BYTES, "%s%s", tool_plan_kind_name(row), blocks);
    return name;
}

bool tool_plan_solve(const struct tool_plan_wish *wish, bloomery_kind kind, uint32_t blocks,
                     bloomery_plan *plan, bloomery_error *error)
{
    bloomery_plan_options with_blocks = wish->options;
    with_blocks.blocks_per_key = blocks;
    with_blocks.cell_bits = wish->counter_bits;
    *plan = (bloomery_plan){.kind = kind, .keys = wish->keys, .rate = wish->rate};
    if (wish->keys == 0 || wish->rate == 0)
        plan->bytes = wish->memory;
    return bloomery_plan_solve(plan, &with_blocks, error) == BLOOMERY_OK;
}

/* Kinds with a purpose that the table does not weigh: only --kind shows them. */
static bool only_by_name(bloomery_kind kind)
{
    return kind == BLOOMERY_SCALABLE || kind == BLOOMERY_COUNTING;
}

/* Whether something is wanted that static filters do not have: then the table has none. */
static bool not_static(const struct tool_plan_wish *wish)
{
    return wish->options.folds + wish->options.probes + wish->options.blocks_per_key > 0;
}

size_t tool_plan_solve_rows(const struct tool_plan_wish *wish, const bloomery_plan *chosen,
                            struct tool_plan_row *rows)
{
    size_t count = 0;
    const bloomery_kind kind =
        chosen->kind != BLOOMERY_KIND_DEFAULT ? chosen->kind : BLOOMERY_BLOCKED;
    for (size_t i = 0; i < TOOL_PLAN_ROWS; i++) {
        struct tool_plan_row row = {.kind = shapes[i].kind, .blocks = shapes[i].blocks};
        if (wish->kind != BLOOMERY_KIND_DEFAULT ? row.kind != wish->kind : only_by_name(row.kind))
            continue;
        if (wish->kind == BLOOMERY_KIND_DEFAULT && row.kind == BLOOMERY_STATIC && not_static(wish))
            continue;
        if (wish->options.blocks_per_key > 0 && row.blocks != wish->options.blocks_per_key)
            continue;
        row.solved = tool_plan_solve(wish, row.kind, row.blocks, &row.plan, &row.error);
        row.fits = row.solved && (wish->memory == 0 || row.plan.planned_bytes <= wish->memory);
        row.recommended = row.solved && row.kind == kind &&
                          (row.kind == BLOOMERY_SCALABLE || row.blocks == chosen->blocks_per_key);
        rows[count++] = row;
    }
    return count;
}
