/* SPDX-License-Identifier: Apache-2.0 */
#include "command/explore/explorer_open.h"

#include "base/system.h"
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The temporary file ---------------------------------------------------------------------- */

/* A new file, whose name nobody can know before; a signal removes it from now on. -1 after a
 * message. */
static int make_file(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    uint64_t number = 0;
    const char *named = getenv("TMPDIR");
    if (named == NULL || named[0] == '\0')
        named = "/tmp";
    /* Whole, since the browser starts elsewhere. */
    int reason = realpath(named, folder) == NULL ? errno : 0;
    if (reason == 0 && getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        reason = errno;
    if (reason == 0 &&
        snprintf(path, PATH_MAX, "%s/bloomery-explore-%016llx.html",
                 strcmp(folder, "/") == 0 ? "" : folder, (unsigned long long)number) >= PATH_MAX)
        reason = ENAMETOOLONG;
    if (reason != 0) {
        tool_error("%s: %s", named, strerror(reason));
        return -1;
    }
    tool_interrupt_remove_too(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        tool_error("%s: %s", path, strerror(errno));
        tool_interrupt_remove_too(NULL);
        return -1;
    }
    (void)!fchmod(file, S_IRUSR | S_IWUSR); /* umask may have taken too much for a browser */
    return file;
}

bool tool_explorer_keep(const struct tool_explorer_copy *copy, char path[PATH_MAX])
{
    struct tool_out out;
    const int file = make_file(path);
    if (file < 0)
        return false;
    tool_out_start(&out);
    tool_out_redirect(&out, file, path);
    tool_explorer_copy_write(copy, &out);
    int code = tool_out_finish(&out, TOOL_FOUND);
    /* Some file systems find only now that they are full. */
    if (close(file) != 0 && code == TOOL_FOUND) {
        tool_error("%s: %s", path, strerror(errno));
        code = TOOL_ERROR;
    }
    if (code == TOOL_ERROR)
        unlink(path);
    tool_interrupt_remove_too(NULL);
    return code == TOOL_FOUND;
}

/* ---- The browser ----------------------------------------------------------------------------- */

static bool has_display(void)
{
    const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (x11 != NULL && x11[0] != '\0') || (wayland != NULL && wayland[0] != '\0');
}

/* Starts the desktop's opener. What it says is no data: stdout becomes its stderr. 0 or an
 * errno. */
static int start_opener(const char *path, pid_t *process)
{
    static char opener[] = "xdg-open";
    char copy[PATH_MAX];
    char *arguments[] = {opener, copy, NULL};
    posix_spawn_file_actions_t actions;
    snprintf(copy, sizeof(copy), "%s", path);
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0)
        return reason;
    reason = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (reason == 0)
        reason = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (reason == 0)
        reason = posix_spawnp(process, opener, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

/* NULL, or why the page is not open. `why` has room for the sentence. */
static const char *open_page(const char *path, char *why, size_t room)
{
    pid_t process = 0;
    int status = 0;
    if (!has_display())
        return "there is no display (DISPLAY, WAYLAND_DISPLAY)";
    const int reason = start_opener(path, &process);
    if (reason == ENOENT)
        return "xdg-open is not installed";
    if (reason != 0) {
        snprintf(why, room, "xdg-open: %s", strerror(reason));
        return why;
    }
    while (waitpid(process, &status, 0) < 0)
        if (errno != EINTR) /* somebody ignores SIGCHLD: how it ended is not known */
            return NULL;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NULL;
    if (WIFEXITED(status))
        snprintf(why, room, "xdg-open failed with exit code %d", WEXITSTATUS(status));
    else
        snprintf(why, room, "xdg-open was ended by signal %d", WTERMSIG(status));
    return why;
}

int tool_explorer_show(const char *path, bool print)
{
    char room[128];
    struct tool_out out;
    const char *why = print ? NULL : open_page(path, room, sizeof(room));
    if (!print && why == NULL)
        return TOOL_FOUND;
    if (why != NULL)
        tool_notice("%s; nothing is lost: the page is the file that stdout names", why);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n", path);
    return tool_out_finish(&out, TOOL_FOUND);
}
