/* SPDX-License-Identifier: Apache-2.0 */
/* dialects: which other systems' filters there are, and what can be done with them. */
#include "base/options.h"
#include "base/out.h"
#include "base/report.h"
#include "filter/dialect_option.h"
#include "tool.h"

#include <string.h>

static void print_list(struct tool_out *out, const char *name, const char *list)
{
    if (list != NULL && list[0] != '\0')
        tool_out_format(out, "    %-9s %s\n", name, list);
}

static int print_text(void)
{
    struct tool_out out;
    const bloomery_dialect *dialect;
    tool_out_start(&out);
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++) {
        tool_out_format(&out, "%-16s %c%c%c%c  %s\n", dialect->name, dialect->reads ? 'r' : '-',
                        dialect->writes ? 'w' : '-', dialect->creates ? 'c' : '-',
                        dialect->magic ? 'm' : '-', dialect->description);
        print_list(&out, "variants", dialect->variants);
        if (strcmp(dialect->load_takes, dialect->load_needs) != 0)
            print_list(&out, "needs", dialect->load_needs);
        print_list(&out, "reading", dialect->load_takes);
        print_list(&out, "making", dialect->create_takes);
    }
    return tool_out_finish(&out, TOOL_FOUND);
}

/* The words of a list separated by commas. */
static void add_words(struct tool_report *report, const char *name, const char *list)
{
    struct tool_report *words = tool_fact_list(report, name);
    char word[64];
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ",");
        if (length < sizeof(word)) {
            memcpy(word, list, length);
            word[length] = '\0';
            tool_fact(words, NULL, NULL, tool_text(word));
        }
        list += length;
        list += strspn(list, ", ");
    }
}

static int print_json(void)
{
    const bloomery_dialect *dialect;
    struct tool_report *report = tool_report_start("dialects", (struct tool_report_form){0});
    struct tool_report *dialects = tool_fact_list(report, "dialects");
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++) {
        struct tool_report *one = tool_fact_object(dialects, NULL);
        tool_fact(one, "name", NULL, tool_text(dialect->name));
        tool_fact(one, "number", NULL, tool_count(dialect->id));
        tool_fact(one, "note", NULL, tool_text(dialect->description));
        tool_fact(one, "reads", NULL, tool_yes(dialect->reads));
        tool_fact(one, "writes", NULL, tool_yes(dialect->writes));
        tool_fact(one, "creates", NULL, tool_yes(dialect->creates));
        tool_fact(one, "magic", NULL, tool_yes(dialect->magic));
        add_words(one, "variants", dialect->variants);
        add_words(one, "needed", dialect->load_needs);
        add_words(one, "reading", dialect->load_takes);
        add_words(one, "making", dialect->create_takes);
    }
    return tool_report_print(report, true, TOOL_FOUND);
}

struct request {
    bool json;
};

static const struct tool_option options[] = {
    {0, "json", NULL, TOOL_FLAG(struct request, json), .help = "print one JSON object"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};

static int dialects_main(int argc, char **argv)
{
    struct request request = {.json = false};
    int code;
    if (!tool_options_read(argc, argv, &request, &code))
        return code;
    if (optind < argc)
        return tool_usage("'%s': it takes no names; it lists all dialects", argv[optind]);
    return request.json ? print_json() : print_text();
}

const struct tool_command cmd_dialects = {
    .name = "dialects",
    .run = dialects_main,
    .summary = "list the other systems whose filters work here",
    .synopsis = "bloomery dialects [--json]",
    .introduction =
        "Lists the other systems whose filters can be read, queried, extended or "
        "written, bit for bit:\n"
        "\n"
        "  r         files can be read     (convert --from, query, inspect, add)\n"
        "  w         files can be written  (convert --to, add)\n"
        "  c         files can be created  (build)\n"
        "  m         files are recognised by their first bytes; others need --dialect\n"
        "\n"
        "It also lists the parameters of NAME[,parameter=value...]. To read a file, give "
        "those of 'reading' that are not in the file (at least those of 'needs'). To "
        "create one, give those of 'making'. variant= is one of the variants; the first "
        "is the default. Parameters: keys (n), rate (p), bits (m), bytes (size), probes "
        "(k), bits_per_key, seed, growth (expansion), columns, index, cell_bits, slots "
        "(bucketsize), iterations (maxiterations).",
    .groups = groups,
    .epilogue = "  bloomery inspect --dialect guava seen.bf\n"
                "  bloomery build --dialect clickhouse,bytes=64KiB,probes=3,seed=1 \\\n"
                "      -o tokens.bf tokens.txt",
};
