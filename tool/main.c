/* SPDX-License-Identifier: Apache-2.0 */
/* The command `bloomery`: finds the subcommand and runs it. Everything else is in its cmd_NAME.c,
 * below command/. */
#include "base/options.h"
#include "base/out.h"
#include "base/system.h"
#include "input/unpack.h"
#include "tool.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

static const char introduction[] =
    "Bloomery builds Bloom filters. A Bloom filter stores a set of keys in a few bits\n"
    "per key, and answers each lookup with \"definitely not\" or \"possibly\". How often\n"
    "it says \"possibly\" about a key that was never added is its false-positive rate,\n"
    "which you choose.\n"
    "\n"
    "  bloomery build -p 0.01 -o ids.bloom ids.txt   build a filter from ids.txt\n"
    "  bloomery query ids.bloom asked.txt            print lines possibly in it\n"
    "  bloomery query -v ids.bloom asked.txt         print lines definitely not in it\n"
    "  bloomery dedupe lines.txt                     print each line once, in order\n"
    "  bloomery plan -n 20M -p 0.01                  show how much memory it needs\n"
    "\n"
    "Commands:\n";

static const char conclusion[] =
    "\n"
    "'bloomery COMMAND --help' and 'bloomery help COMMAND' print the details.\n"
    "Numbers: 20M, 1e9 (keys); 512MiB, 2GB (memory); 0.01, 1e-6, 0.01%, 1/1000\n"
    "(rates). Exit codes: 0 found, or all well; 1 none found, or a finding; 2 an\n"
    "error.\n";

/* Names of these commands in other programs, which users try first. */
static const struct {
    const char *name;
    const char *here;
} synonyms[] = {
    {"insert", "add"},
    {"put", "add"},
    {"append", "add"},
    {"check", "query"},
    {"contains", "query"},
    {"exists", "query"},
    {"test", "query"},
    {"lookup", "query"},
    {"search", "query"},
    {"grep", "query"},
    {"show", "inspect"},
    {"info", "inspect"},
    {"stats", "inspect"},
    {"size", "inspect"},
    {"join", "merge"},
    {"union", "merge"},
    {"create", "build"},
    {"new", "build"},
    {"make", "build"},
    {"init", "build"},
    {"reserve", "build"},
    {"uniq", "dedupe"},
    {"unique", "dedupe"},
    {"distinct", "dedupe"},
    {"delete", "remove"},
    {"rm", "remove"},
    {"diff", "compare"},
    {"export", "convert"},
    {"import", "convert"},
    {"estimate", "plan"},
    {"version", "--version"},
    {"open", "explore"},
    {"view", "explore"},
    {"intersect", "merge --intersect"},
    {"comm", "dedupe --against"},
    {"subtract", "dedupe --against"},
    {"count", "query -c"},
    {"wc", "query -c"},
    {"verify", "inspect --verify"},
    {"validate", "inspect --verify"},
};

static const char *name_here(const char *name)
{
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
        if (strcmp(synonyms[i].name, name) == 0)
            return synonyms[i].here;
    return NULL;
}

static const struct tool_command *find_command(const char *name)
{
    for (size_t i = 0; i < TOOL_COMMANDS; i++)
        if (strcmp(tool_commands[i]->name, name) == 0)
            return tool_commands[i];

    const char *here = name_here(name);
    if (here != NULL) {
        tool_usage("unknown command '%s'; its name here is '%s'", name, here);
        return NULL;
    }
    if (strcmp(name, "sign") == 0) {
        tool_usage("unknown command 'sign'; sign the file as others, with minisign or gpg "
                   "(docs/lists.md)");
        return NULL;
    }
    const char *names[TOOL_COMMANDS + 1];
    for (size_t i = 0; i < TOOL_COMMANDS; i++)
        names[i] = tool_commands[i]->name;
    names[TOOL_COMMANDS] = "help";
    const char *nearest = tool_nearest(name, names, TOOL_COMMANDS + 1);
    const char *what = name[0] == '-' ? "option" : "command";
    if (nearest != NULL)
        tool_usage("unknown %s '%s'; did you mean '%s'?", what, name, nearest);
    else
        tool_usage("unknown %s '%s'", what, name);
    return NULL;
}

static int print_help(void)
{
    struct tool_out out;
    tool_out_start(&out);
    tool_out_text(&out, introduction);
    for (size_t i = 0; i < TOOL_COMMANDS; i++)
        tool_out_format(&out, "  %-12s%s\n", tool_commands[i]->name, tool_commands[i]->summary);
    tool_out_text(&out, conclusion);
    return tool_out_finish(&out, TOOL_FOUND);
}

/* Prints the help of a command, or of a part of it. `part` may be NULL. */
static int print_command_help(const char *name, const char *part)
{
    const struct tool_command *command = find_command(name);
    if (command == NULL)
        return TOOL_ERROR;
    const size_t prefix = strlen(command->name) + 1;
    const struct tool_command *found = part != NULL && command->parts != NULL ? NULL : command;
    for (size_t i = 0; found == NULL && command->parts[i] != NULL; i++)
        if (strcmp(command->parts[i]->name + prefix, part) == 0)
            found = command->parts[i];
    if (found == NULL) {
        /* The command knows synonyms of its parts, and complains about other words. */
        static char help[] = "--help";
        char *arguments[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)part, help, NULL};
        tool_set_command(command);
        return command->run(3, arguments);
    }
    return tool_print_help(found);
}

/* Makes a small filter with this hash, to see what the library can do on this machine. Returns the
 * filter's kernel, or NULL if the library can't make one. */
static const char *kernel_with(bloomery_hash_id hash)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .blocks_per_key = 1, .probes = 1, .bits = 512};
    bloomery_filter *filter = NULL;
    bloomery_info info = BLOOMERY_INFO;
    plan.hash = hash;
    if (bloomery_create(&plan, NULL, &filter, NULL) != BLOOMERY_OK)
        return NULL;
    bloomery_info_get(filter, &info);
    bloomery_free(filter);
    return info.kernel;
}

static int print_version(void)
{
    struct tool_out out;
    tool_out_start(&out);
    tool_out_format(&out, "bloomery %s (library %s)\n", BLOOMERY_VERSION, bloomery_version());
    tool_out_format(&out, "file format: %u\n", BLOOMERY_FILE_FORMAT);
    tool_out_format(&out, "kernel: %s\n", kernel_with(BLOOMERY_HASH_XXH3_64));
    tool_out_format(&out, "keyed filters: %s\n",
                    kernel_with(BLOOMERY_HASH_SIPHASH) != NULL ? "yes" : "not in this build");
    tool_out_format(&out, "libraries: %s, zlib %s, jansson %s\n", tool_unpack_version(),
                    zlibVersion(), jansson_version_str());
    return tool_out_finish(&out, TOOL_FOUND);
}

static bool wants_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    if (!tool_standard_begin())
        return TOOL_ERROR;

    const char *first = argc > 1 ? argv[1] : "--help";
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0)
        return print_version();
    if (strcmp(first, "help") == 0 && argc > 2 && !wants_help(argv[2]))
        return print_command_help(argv[2], argc > 3 ? argv[3] : NULL);
    if (wants_help(first))
        return print_help();

    const struct tool_command *command = find_command(first);
    if (command == NULL)
        return TOOL_ERROR;
    tool_set_command(command);
    const int code = command->run(argc - 1, argv + 1);
    return code == TOOL_ERROR || tool_watched_unchanged() ? code : TOOL_ERROR;
}
