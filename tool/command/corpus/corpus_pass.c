/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of documents decides which of two equal paragraphs stays. So keys are added in that
 * order (dedupe/adder.c), and all else is done by the threads, each for its own chunk. The output
 * is the same whatever their number.
 */
#include "command/corpus/corpus_pass.h"

#include "base/system.h"
#include "input/chunks.h"
#include "tool.h"

#include <stdlib.h>

struct corpus_run {
    struct tool_corpus_pass *pass;
    struct tool_chunks *chunks;
    struct tool_adder *adder;
    struct tool_documents **documents; /* of each thread */
};

/* What stays of a chunk, in its turn. False if the pass ends here. */
static bool deliver_documents(struct corpus_run *run, const struct tool_chunk *chunk,
                              struct tool_documents *documents)
{
    struct tool_corpus_pass *pass = run->pass;
    tool_documents_judge(documents, tool_documents_answered(documents));
    if (!tool_chunks_turn(run->chunks, chunk))
        return false;
    pass->failed = documents->clashes > 0; /* with what follows, no output is right */
    if (pass->failed)
        return false;
    pass->failed = documents->output_bytes > 0 &&
                   !pass->write(pass->context, documents->output, documents->output_bytes);
    return !pass->failed;
}

static void work(void *context, uint32_t number)
{
    struct corpus_run *run = context;
    struct tool_documents *documents = run->documents[number];
    struct tool_adding *adding = &documents->keys->adding;
    struct tool_chunk chunk = {0};
    while (tool_chunks_take(run->chunks, &chunk)) {
        tool_documents_read(documents, &chunk);
        if (!tool_adder_add(run->adder, adding))
            break; /* the chunk is not given back: a thread with an earlier one ends it all */
        const bool last = adding->answered < adding->count;
        if ((!run->pass->learns && !deliver_documents(run, &chunk, documents)) || last)
            tool_chunks_stop(run->chunks);
    }
    tool_chunk_free(&chunk);
}

/* Puts the places of these inputs behind those of earlier ones, which are closed. */
static void append_tally(struct tool_tally *into, const struct tool_tally *from)
{
    for (uint64_t i = 0; i < from->broken && into->broken + i < TOOL_TALLY_PLACES; i++)
        into->broken_at[into->broken + i] = from->broken_at[i];
    into->broken += from->broken;
    into->too_deep += from->too_deep;
}

bool tool_corpus_pass_run(struct tool_corpus_pass *pass, const struct tool_source *source)
{
    struct tool_source stoppable = *source;
    stoppable.stoppable = true;
    stoppable.settled = true;
    struct corpus_run run = {.pass = pass};
    run.chunks = tool_chunks_open(&stoppable, pass->silent   ? NULL
                                              : pass->learns ? "reading again"
                                                             : "comparing");
    uint32_t threads = tool_chunks_threads(run.chunks);
    run.adder = tool_adder_start(pass->seen, &threads);
    run.documents = tool_allocate(threads * sizeof(struct tool_documents *));
    for (uint32_t i = 0; i < threads; i++)
        run.documents[i] = tool_documents_new(pass->judge);
    tool_team_run(threads, work, &run);
    pass->stopped = tool_adder_end(run.adder) || pass->stopped;
    struct tool_tally tally = {0};
    for (uint32_t i = 0; i < threads; i++) {
        tool_corpus_counts_add(&pass->counts, &run.documents[i]->counts);
        pass->texts += run.documents[i]->texts;
        if (!pass->learns) /* what is only read gets no member */
            pass->clashes += run.documents[i]->clashes;
        tool_tally_add(&tally, &run.documents[i]->tally);
        tool_documents_free(run.documents[i]);
    }
    free(run.documents);
    tool_tally_place(&tally, run.chunks);
    append_tally(&pass->tally, &tally);
    const bool whole = tool_chunks_close(run.chunks);
    return whole && !pass->stopped && !pass->failed;
}
