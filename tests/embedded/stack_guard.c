/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's compiler-rt for WebAssembly was compiled with a guard of the stack, and its wasi-libc
 * has none: a program that links both must define it. */
#include <stdint.h>

extern uintptr_t __stack_chk_guard;
extern void __stack_chk_fail(void);

uintptr_t __stack_chk_guard = 0x0BAD57AC;

void __stack_chk_fail(void)
{
    __builtin_trap();
}
