/* SPDX-License-Identifier: Apache-2.0 */
/* explore: the web page that shows filters, with a file in it. This file reads the command line;
 * explorer_page.c says where the page is, explorer_copy.c puts the file in, explorer_open.c shows
 * it. */
#include "command/explore/explorer_copy.h"
#include "command/explore/explorer_open.h"
#include "command/explore/explorer_page.h"
#include "filter/files.h"
#include "filter/text_output.h"
#include "input/input.h"
#include "tool.h"

static const char help[] =
    "bloomery explore [FILE] [--print] [--page PAGE]\n"
    "bloomery explore FILE -o OUT [--force] [--page PAGE]\n"
    "\n"
    "Opens the explorer in the browser: a page in one file, without a network, that\n"
    "shows filters and has a calculator. With FILE ('-': stdin) a copy of the page is\n"
    "opened that has the file in it. It is a new file in TMPDIR (default /tmp), which\n"
    "only you can read, and it stays there.\n"
    "\n"
    "FILE may be a filter of Bloomery or of another system: the page finds out.\n"
    "It may have " TOOL_EXPLORER_FILE_SAID
    ". 'bloomery inspect FILE' describes larger ones, and the\n"
    "page itself opens them when they are dropped there.\n"
    "\n"
    "      --print          prints the path of the page and opens nothing. Where\n"
    "                       there is no display or no xdg-open it is printed anyway\n"
    "  -o, --output OUT     writes the copy to OUT, '-' for stdout, and opens nothing\n"
    "      --force          -o replaces a file\n"
    "      --page PAGE      PAGE in place of the page that is installed\n"
    "\n"
    "A secret that is in a keyed filter's file is in the copy, too.\n"
    "\n"
    "  bloomery explore\n"
    "  bloomery explore ids.bloom\n"
    "  bloomery explore ids.bloom -o ids.html\n";

struct wish {
    const char *page; /* NULL: the installed one */
    bool print;
    bool force;
    struct tool_text_output output;
};

enum {
    OPTION_PRINT = TOOL_OPTION_OWN,
    OPTION_FORCE,
    OPTION_PAGE,
};

static const struct option options[] = {
    {"print", no_argument, NULL, OPTION_PRINT},
    {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"page", required_argument, NULL, OPTION_PAGE},
    {NULL, 0, NULL, 0},
};

static void take_option(struct wish *wish, int option)
{
    if (option == 'o')
        wish->output.path = optarg;
    else if (option == OPTION_PAGE)
        wish->page = optarg;
    else if (option == OPTION_PRINT)
        wish->print = true;
    else
        wish->force = true;
}

static bool fits_together(const struct wish *wish, const char *path)
{
    const char *excess = NULL;
    if (wish->output.path != NULL && path == NULL)
        excess = "-o names a file for the copy of the page that has FILE in it: name a FILE";
    else if (wish->output.path != NULL && wish->print)
        excess = "--print is for a copy in the temporary directory, and -o names another place";
    else if (wish->output.path == NULL && wish->force)
        excess = "--force lets -o replace a file, and there is no -o";
    return excess == NULL || !tool_usage("%s", excess);
}

/* -o */
static bool may_write(const struct wish *wish, const char *page, const char *path)
{
    if (!tool_text_output_is_file(&wish->output))
        return true;
    const bool is_input = !tool_path_is_stdin(path) && tool_same_file(wish->output.path, path);
    if (is_input || tool_same_file(wish->output.path, page)) {
        tool_error("%s: is %s; the copy needs another name", wish->output.path,
                   is_input ? "the file to be looked at" : "the page itself");
        return false;
    }
    return wish->force || tool_text_output_is_new(&wish->output);
}

static int write_copy(struct wish *wish, const struct tool_explorer_copy *copy)
{
    struct tool_out out;
    tool_out_start(&out);
    if (!tool_text_output_begin(&wish->output, &out))
        return TOOL_ERROR;
    tool_explorer_copy_write(copy, &out);
    return tool_text_output_finish(&wish->output, &out, TOOL_FOUND);
}

static int explore_file(struct wish *wish, const char *page, const char *path)
{
    char kept[PATH_MAX];
    struct tool_explorer_copy copy;
    int code = TOOL_ERROR;
    if (wish->output.path != NULL && !may_write(wish, page, path))
        return TOOL_ERROR;
    const bool read = tool_explorer_copy_begin(&copy, page, path);
    if (read && wish->output.path != NULL)
        code = write_copy(wish, &copy);
    else if (read && tool_explorer_keep(&copy, kept))
        code = tool_explorer_show(kept, wish->print);
    tool_explorer_copy_end(&copy);
    return code;
}

static int explore_main(int argc, char **argv)
{
    char page[PATH_MAX];
    struct wish wish = {.page = NULL};
    int option;
    while ((option = tool_getopt(argc, argv, "o:", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (option == '?')
            return TOOL_ERROR;
        take_option(&wish, option);
    }
    if (argc - optind > 1)
        return tool_usage("'%s': explore takes one file", argv[optind + 1]);
    const char *path = optind < argc ? argv[optind] : NULL;
    if (!fits_together(&wish, path) || !tool_explorer_find(wish.page, page))
        return TOOL_ERROR;
    return path == NULL ? tool_explorer_show(page, wish.print) : explore_file(&wish, page, path);
}

const struct tool_command cmd_explore = {
    .name = "explore",
    .run = explore_main,
    .summary = "a filter in the browser, and a calculator",
    .help = help,
};
