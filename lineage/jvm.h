/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters in a process of their own, on a JVM: the program lineage/FilterOnJvm.java, which is kept
 * as source and compiled when it is wanted. That file's comment has the commands it obeys.
 *
 *     struct tool_jvm_program program;
 *     tool_jvm_compile(NULL, &program)
 *     tool_jvm_start(&program, (const char *const[]){"sha384", NULL}, &jvm)
 *     tool_jvm_forget(&program);                            after the last start
 *     tool_jvm_add(&jvm, keys); tool_jvm_query(&jvm, queries, answers); ... tool_jvm_end(&jvm);
 *
 * All functions print their own message before they report failure. A process is one thread's at a
 * time.
 */
#ifndef BLOOMERY_LINEAGE_JVM_H
#define BLOOMERY_LINEAGE_JVM_H

#include "exact_sets.h"

#include <sys/types.h>

/* The place of Guava in Debian. */
#define TOOL_JVM_GUAVA "/usr/share/java/guava.jar"

/* The compiled program, in a folder of its own. */
struct tool_jvm_program {
    char path[4096]; /* of its class, and of Guava: what `java -cp` takes */
    char folder[4096];
};

/* A process that runs it. */
struct tool_jvm {
    pid_t pid; /* 0: none */
    int socket;
};

/* The facts that such a process knows of itself. */
struct tool_jvm_state {
    double add_seconds; /* of its thread, without the making of strings */
    double query_seconds;
    double processor_seconds; /* of the whole process */
    uint64_t max_bytes;       /* of memory, so far; 0: not known */
};

/* Compiles the program into a new folder among the temporary ones. `guava`: the jar; NULL:
 * Debian's. */
bool tool_jvm_compile(const char *guava, struct tool_jvm_program *program);

/* Removes the files that tool_jvm_compile made. Processes that were started run on. */
void tool_jvm_forget(struct tool_jvm_program *program);

/* Starts a process and waits until it is ready. `arguments`: those of the program, NULL after the
 * last, seven at most. */
bool tool_jvm_start(const struct tool_jvm_program *program, const char *const *arguments,
                    struct tool_jvm *jvm);

/* Adds keys, or queries them: then answers come as a structure has them (exact_sets.h). */
bool tool_jvm_add(struct tool_jvm *jvm, struct tool_digits keys);
bool tool_jvm_query(struct tool_jvm *jvm, struct tool_digits keys, uint64_t *answers);

bool tool_jvm_tell_state(struct tool_jvm *jvm, struct tool_jvm_state *state);

/* The filter as bytes, which the caller frees; NULL after a message. */
uint8_t *tool_jvm_tell_bytes(struct tool_jvm *jvm, size_t *bytes);

/* Ends the process, if there is one. */
void tool_jvm_end(struct tool_jvm *jvm);

#endif /* BLOOMERY_LINEAGE_JVM_H */
