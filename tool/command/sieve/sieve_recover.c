/* SPDX-License-Identifier: Apache-2.0 */
/* sieve recover: makes a damaged sieve one that works. */
#include "base/out.h"
#include "command/sieve/sieve_command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "bloomery sieve recover [OPTION...] DIR\n"
    "\n"
    "Makes a damaged sieve one that opens and works again, from what of it is whole,\n"
    "and prints a line for each thing that was damaged and what is lost with it. If\n"
    "the last commit can't be read, the one before it counts. Items of the queue and\n"
    "pending lines in damaged frames are lost. Keys in damaged frames of what was\n"
    "seen come out again if they are pushed again.\n"
    "\n"
    "Nothing is deleted: what is damaged is set aside in a folder 'set-aside.N' in\n"
    "DIR. A sieve that is whole stays as it is.\n"
    "\n"
    "  -q, --quiet          no report at the end\n"
    "      --json           the report as one JSON object\n" TOOL_SIEVE_WAIT_HELP "\n"
    "Exit code: 0 nothing is lost, 1 something is or may be, 2 an error.\n"
    "\n"
    "  bloomery sieve verify crawl || bloomery sieve recover crawl\n";

struct recover {
    struct tool_sieve_command command;
    json_t *reports; /* NULL: to stdout */
    struct tool_out out;
};

static void take_report(void *context, const char *text)
{
    struct recover *recover = context;
    if (recover->reports != NULL) {
        tool_json_append(recover->reports, tool_json_text(text));
        return;
    }
    tool_out_text(&recover->out, text);
    tool_out_text(&recover->out, "\n");
}

static bool is_whole(const bloomery_sieve_recovery *found)
{
    return !found->older && found->pending == 0 && found->queued == 0 && found->seen == 0;
}

static void say_lost(const struct recover *recover, const bloomery_sieve_recovery *found)
{
    const char *directory = recover->command.directory;
    char text[TOOL_SIEVE_TEXT];
    if (found->damaged == 0) {
        tool_say("%s: all is sound", directory);
        return;
    }
    if (found->older)
        tool_say("%s: one of the last two commits could not be read; if that was the last one, the "
                 "sieve is as it was one commit before: push again what came after",
                 directory);
    if (found->pending > 0)
        tool_say("%s: %s pending and lost", directory,
                 tool_sieve_things(text, found->pending, "push"));
    if (found->queued > 0)
        tool_say("%s: %s of the queue lost", directory,
                 tool_sieve_things(text, found->queued, "item"));
    if (found->seen > 0)
        tool_say("%s: %s no longer known as seen; pushed again, they come out again", directory,
                 tool_sieve_things(text, found->seen, "key"));
    if (is_whole(found))
        tool_say("%s: nothing is lost", directory);
    if (found->folder[0] != '\0')
        tool_say("%s: what is damaged is set aside in %s/%s", directory, directory, found->folder);
}

static int report(struct recover *recover, const bloomery_sieve_recovery *found)
{
    const int code = is_whole(found) ? TOOL_FOUND : TOOL_NONE;
    if (recover->reports != NULL) {
        json_t *object = tool_json_report("sieve recover");
        tool_json_add(object, "damaged", tool_json_count(found->damaged));
        tool_json_add(object, "older_commit", tool_json_bool(found->older));
        tool_json_add(object, "lost_pending", tool_json_count(found->pending));
        tool_json_add(object, "lost_queued", tool_json_count(found->queued));
        tool_json_add(object, "lost_seen", tool_json_count(found->seen));
        tool_json_add(object, "set_aside",
                      found->folder[0] != '\0' ? tool_json_text(found->folder) : tool_json_null());
        tool_json_add(object, "reports", recover->reports);
        return tool_json_print(object, code);
    }
    if (!recover->command.quiet)
        say_lost(recover, found);
    return tool_out_finish(&recover->out, code);
}

static int run(struct recover *recover)
{
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    bloomery_error error = {0};
    bloomery_status status;
    double waited = 0;
    tool_out_start(&recover->out);
    recover->reports = recover->command.json ? tool_json_array() : NULL;
    do {
        if (waited > 0)
            usleep(20000);
        status =
            bloomery_sieve_recover(&recover->command.options, take_report, recover, &found, &error);
        waited += 0.02;
    } while (status == BLOOMERY_BUSY && waited < recover->command.wait);
    if (status == BLOOMERY_OK)
        return report(recover, &found);
    tool_out_finish(&recover->out, TOOL_ERROR);
    return status == BLOOMERY_BUSY ? tool_sieve_say_busy(&recover->command, &error)
                                   : tool_sieve_error(&recover->command, &error);
}

static int recover_main(int argc, char **argv)
{
    static const struct option options[] = {
        {"quiet", no_argument, NULL, 'q'},
        {"wait", required_argument, NULL, TOOL_SIEVE_OPTION_WAIT},
        {"json", no_argument, NULL, TOOL_SIEVE_OPTION_JSON},
        {NULL, 0, NULL, 0},
    };
    struct recover recover;
    int option;
    memset(&recover, 0, sizeof(recover));
    tool_sieve_start(&recover.command);
    while ((option = tool_getopt(argc, argv, "q", options)) != -1)
        if (option == TOOL_OPTION_HELP || !tool_sieve_option(&recover.command, option))
            return option == TOOL_OPTION_HELP ? TOOL_FOUND : TOOL_ERROR;
    if (!tool_sieve_operand(&recover.command, argc, argv) || !tool_sieve_no_more(argc, argv))
        return TOOL_ERROR;
    return run(&recover);
}

const struct tool_command tool_sieve_recover = {
    .name = "sieve recover",
    .run = recover_main,
    .summary = "make a damaged sieve work again",
    .help = help,
};
