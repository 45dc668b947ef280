/* SPDX-License-Identifier: Apache-2.0 */
/* See corpus_checks.h. */
#include "command/corpus/corpus_checks.h"

#include "command/corpus/corpus.h"
#include "filter/files.h"
#include "key/rule.h"
#include "tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "keys of a corpus: ";

/* What the keys of a filter are, by its note; NULL if it does not say. */
static const char *keys_of(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bool says = info.note != NULL && strncmp(info.note, prefix, strlen(prefix)) == 0;
    return says ? info.note + strlen(prefix) : NULL;
}

bool tool_corpus_note_fits(const char *note, const char *path, const bloomery_filter *filter)
{
    const char *keys = keys_of(filter), *wanted = note + strlen(prefix);
    if (keys == NULL || strcmp(keys, wanted) == 0)
        return true;
    tool_error("%s: has other keys (%s) than these options make (%s)", path, keys, wanted);
    return false;
}

bool tool_corpus_againsts_fit(const struct tool_judge *judge, const char *note, bool quiet)
{
    for (size_t i = 0; i < judge->against_count; i++) {
        const struct tool_against *against = &judge->against[i];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(against->filter, &info);
        if (!tool_corpus_note_fits(note, against->path, against->filter))
            return false;
        if (!tool_rule_is_none(&info.rule) &&
            ((info.rule.flags ^ judge->rule.flags) & TOOL_RULE_OF_KEY) != 0) {
            tool_error("%s: its keys are made by another rule; give --trim, --lower and --upper "
                       "as it was built",
                       against->path);
            return false;
        }
        if (keys_of(against->filter) == NULL && !quiet)
            tool_say("%s: does not say what its keys are, and is compared with as if they were %s",
                     against->path, note + strlen(prefix));
    }
    return true;
}

bool tool_corpus_inputs_are_there(const struct tool_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        struct stat facts;
        const char *path = source->paths[i];
        if (tool_path_is_stdin(path))
            continue;
        const bool there = stat(path, &facts) == 0;
        if (!there || S_ISDIR(facts.st_mode) || access(path, R_OK) != 0) {
            tool_error("%s: %s", path,
                       there && S_ISDIR(facts.st_mode) ? "is a directory; name the files in it"
                                                       : strerror(errno));
            return false;
        }
    }
    return true;
}

bool tool_corpus_say_no_text(const struct tool_judge *judge, const char *path)
{
    tool_error("%s%sno document has a string at '%s', so there is nothing to compare; --jsonl "
               "names the member that has the text",
               path != NULL ? path : "", path != NULL ? ": " : "", judge->path->text);
    return false;
}

bool tool_corpus_say_no_sample(const struct tool_judge *judge, const struct tool_corpus_size *size,
                               const char *path)
{
    if (size->whole && size->sampled_documents > 0)
        return tool_corpus_say_no_text(judge, path);
    if (size->sampled_documents == 0)
        tool_error(
            "%s: no line of the sample ends within 64 MiB, so how many keys there will be is "
            "not known: -n says it",
            path);
    else
        tool_error(
            "%s: of %llu documents that were sampled, none has a string at '%s'. Is the path "
            "right? If others have one, -n says how many keys to expect",
            path, (unsigned long long)size->sampled_documents, judge->path->text);
    return false;
}

bool tool_corpus_say_clash(const struct tool_judge *judge)
{
    tool_error("documents have a member '%s' already; --annotate=NAME takes another name",
               judge->annotate);
    return false;
}
