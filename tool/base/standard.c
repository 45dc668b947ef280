/* SPDX-License-Identifier: Apache-2.0 */
#include "base/standard.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* If a standard stream is closed, the next file to be opened would take its place, and get what is
 * printed. Its place is taken by what can neither be read nor written, also by its name /dev/stdin:
 * input that is missing is not empty. Messages are lost without an error. */
static bool take_standard_places(void)
{
    for (int place = STDIN_FILENO; place <= STDERR_FILENO; place++) {
        const bool messages = place == STDERR_FILENO;
        if (fcntl(place, F_GETFD) < 0 &&
            open(messages ? "/dev/null" : "/", messages ? O_WRONLY : O_PATH) != place)
            return false;
    }
    return true;
}

bool tool_standard_input_is_closed(void)
{
    const int flags = fcntl(STDIN_FILENO, F_GETFL);
    return flags < 0 || (flags & O_PATH) != 0;
}

bool tool_standard_begin(void)
{
    /* A reader that went away ends us quietly, even if our parent ignores the signal. A file that
     * may grow no further is a failed write like any other. */
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_IGN);
    return take_standard_places();
}
