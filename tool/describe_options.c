/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what the commands are and take, as one JSON object. It runs when the command is built; the
 * manual's pages (scripts/make-pages) and the shells' completions (scripts/make-completions) are
 * made of what it prints. It is not installed.
 *
 *     {"dialects": [NAME...],
 *      "commands": [{"name", "summary", "synopsis", "operands": [WORD...], "parts": [COMMAND...],
 *                    "groups": [{"title", "unlisted",
 *                                "options": [{"letter", "name", "argument", "words": [WORD...],
 *                                             "help", "more"}...]}...]}...]}
 *
 * "help" is null of an option that is described with the next one.
 */
#include "base/json.h"
#include "base/options.h"
#include "filter/dialect_option.h"

#include <string.h>

static json_t *text_or_null(const char *text)
{
    return text != NULL ? tool_json_text(text) : tool_json_null();
}

static json_t *names_of_dialects(void)
{
    json_t *names = tool_json_array();
    const bloomery_dialect *dialect;
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++)
        tool_json_append(names, tool_json_text(dialect->name));
    return names;
}

/* "a|b|c" as a list; that of NULL is empty. */
static json_t *list_of(const char *words)
{
    if (words != NULL && strcmp(words, TOOL_DIALECT_WORDS) == 0)
        return names_of_dialects();
    json_t *list = tool_json_array();
    while (words != NULL && *words != '\0') {
        const size_t bytes = strcspn(words, "|");
        char word[64];
        if (bytes >= sizeof(word))
            return list;
        memcpy(word, words, bytes);
        word[bytes] = '\0';
        tool_json_append(list, tool_json_text(word));
        words += bytes + (words[bytes] != '\0');
    }
    return list;
}

static json_t *describe_option(const struct tool_option *row)
{
    const char letter[2] = {row->letter, '\0'};
    json_t *option = tool_json_object();
    tool_json_add(option, "letter", tool_json_text(letter));
    tool_json_add(option, "name", tool_json_text(row->name));
    tool_json_add(option, "argument", text_or_null(row->argument));
    tool_json_add(option, "words", list_of(row->words));
    tool_json_add(option, "help", text_or_null(row->help));
    tool_json_add(option, "more", text_or_null(row->more));
    return option;
}

static json_t *describe_groups(const struct tool_option_group *group)
{
    json_t *groups = tool_json_array();
    for (; group != NULL && group->rows != NULL; group++) {
        json_t *one = tool_json_object(), *options = tool_json_array();
        for (const struct tool_option *row = group->rows; row->name != NULL; row++)
            tool_json_append(options, describe_option(row));
        tool_json_add(one, "title", text_or_null(group->title));
        tool_json_add(one, "unlisted", tool_json_bool(group->unlisted));
        tool_json_add(one, "options", options);
        tool_json_append(groups, one);
    }
    return groups;
}

/* Without its parts. */
static json_t *describe_command(const struct tool_command *command)
{
    json_t *one = tool_json_object();
    tool_json_add(one, "name", tool_json_text(command->name));
    tool_json_add(one, "summary", tool_json_text(command->summary));
    tool_json_add(one, "synopsis", text_or_null(command->synopsis));
    tool_json_add(one, "operands", list_of(command->operands));
    tool_json_add(one, "groups", describe_groups(command->groups));
    return one;
}

int main(void)
{
    json_t *all = tool_json_object(), *commands = tool_json_array();
    for (size_t i = 0; i < TOOL_COMMANDS; i++) {
        json_t *one = describe_command(tool_commands[i]), *parts = tool_json_array();
        const struct tool_command *const *part = tool_commands[i]->parts;
        for (; part != NULL && *part != NULL; part++)
            tool_json_append(parts, describe_command(*part));
        tool_json_add(one, "parts", parts);
        tool_json_append(commands, one);
    }
    tool_json_add(all, "dialects", names_of_dialects());
    tool_json_add(all, "commands", commands);
    return tool_json_print(all, TOOL_FOUND);
}
