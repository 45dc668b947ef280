/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service_filter PROGRAM ARGUMENT...: runs a program as Debian's service redis-server does, with
 * the system calls of tests/module/system_calls.txt alone. Another one ends it with SIGSYS.
 *
 * A filter is a list of steps that the kernel takes at each call: is it a call of this processor's
 * own, is it the first one that is allowed, the second one. Exit 77: filters are not allowed here.
 */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { OWN_CALLS = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { OWN_CALLS = AUDIT_ARCH_AARCH64 };
#else
#error "the name of this processor's system calls is missing here"
#endif

static const unsigned allowed[] = {
#include <system_calls.h>
};

enum { ALLOWED = sizeof allowed / sizeof allowed[0], SKIPPED = 77 };

/* Loads a word of what the kernel tells about the call. */
#define LOAD(field)                                                                           \
    (struct sock_filter)                                                                      \
    {                                                                                         \
        .code = BPF_LD | BPF_W | BPF_ABS, .k = (unsigned)offsetof(struct seccomp_data, field) \
    }
#define RESULT(value)                                   \
    (struct sock_filter)                                \
    {                                                   \
        .code = BPF_RET | BPF_K, .k = (unsigned)(value) \
    }
/* Takes the next step if the word is this value, else the one after it. */
#define IF_EQUAL(value)                                                    \
    (struct sock_filter)                                                   \
    {                                                                      \
        .code = BPF_JMP | BPF_JEQ | BPF_K, .jf = 1, .k = (unsigned)(value) \
    }

int main(int count, char **arguments)
{
    static struct sock_filter steps[5 + 2 * ALLOWED] = {{0}};
    unsigned short at = 0;
    if (count < 2) {
        fprintf(stderr, "usage: %s PROGRAM ARGUMENT...\n", arguments[0]);
        return 2;
    }
    steps[at++] = LOAD(arch);
    steps[at] = IF_EQUAL(OWN_CALLS);
    steps[at].jt = 1; /* past the result */
    steps[at++].jf = 0;
    steps[at++] = RESULT(SECCOMP_RET_KILL_PROCESS);
    steps[at++] = LOAD(nr);
    for (size_t i = 0; i < ALLOWED; i++) {
        steps[at++] = IF_EQUAL(allowed[i]);
        steps[at++] = RESULT(SECCOMP_RET_ALLOW);
    }
    steps[at++] = RESULT(SECCOMP_RET_KILL_PROCESS);
    const struct sock_fprog program = {.len = at, .filter = steps};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("service_filter");
        return SKIPPED;
    }
    execv(arguments[1], arguments + 1);
    perror(arguments[1]);
    return 127;
}
