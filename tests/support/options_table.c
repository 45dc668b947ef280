/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before the C library: getopt_long prints the options that a command takes, a line each,
 * and ends the program. A letter without a long name has a line of its own. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int getopt_long(int argc, char *const *argv, const char *letters, const struct option *options,
                int *index)
{
    (void)argc;
    (void)argv;
    (void)index;
    for (const struct option *option = options; option->name != NULL; option++)
        printf("--%s %d %c\n", option->name, option->has_arg,
               option->val > ' ' && option->val < 127 ? option->val : '-');
    for (const char *letter = letters; *letter != '\0'; letter++)
        if (*letter != ':')
            printf("-%c %d -\n", *letter, letter[1] == ':' ? required_argument : no_argument);
    fflush(stdout);
    _exit(0);
}
