/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `sieve`, and how it is opened.
 *
 * --memory is the memory of the process as a whole, since a machine has to have that much. The
 * command takes a share of it for itself, TOOL_SIEVE_SHARE: libraries, code, stack, buffers for
 * input and output. The sieve gets the rest, so that the same --memory is the same sieve, in every
 * run, every subcommand and `plan --sieve`. Measuring what the process has taken instead (VmHWM)
 * gives a little more, and another number in each run.
 */
#include "command/sieve/sieve_command.h"
#include "base/numbers.h"
#include "command/sieve/sieve_plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Seconds until it is checked again whether another process still has the sieve. */
#define LOOK_AGAIN 0.02

/* ---- Options --------------------------------------------------------------------------------- */

static void warn(void *context, const char *text)
{
    const struct tool_sieve_command *command = context;
    tool_warning("%s: %s", command->directory, text);
}

void tool_sieve_start(struct tool_sieve_command *command)
{
    *command = (struct tool_sieve_command){.options = BLOOMERY_SIEVE_OPTIONS};
    command->wait = 10;
    command->options.existing = true;
    command->options.keep_leases = true;
    command->options.warning = warn;
    command->options.warning_context = command;
}

/* Which of some names this is; -1 after a message. */
static int take_name(const char *option, const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    const char *nearest = tool_nearest(text, names, (size_t)count);
    char list[120] = "";
    for (int i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                 i == 0           ? ""
                 : i + 1 == count ? " or "
                                  : ", ",
                 names[i]);
    if (nearest != NULL)
        tool_usage("%s is %s, not '%s'; did you mean '%s'?", option, list, text, nearest);
    else
        tool_usage("%s is %s, not '%s'", option, list, text);
    return -1;
}

static bool take_sync(struct tool_sieve_command *command, const char *text)
{
    command->options.sync = BLOOMERY_SIEVE_SYNC_TIMED;
    command->options.sync_seconds = 0;
    if (strcmp(text, "always") == 0)
        command->options.sync = BLOOMERY_SIEVE_SYNC_ALWAYS;
    else if (strcmp(text, "never") == 0)
        command->options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    else if (isdigit((unsigned char)text[0]) || text[0] == '.')
        return tool_option_seconds("--sync", text, TOOL_SECONDS_SOME,
                                   &command->options.sync_seconds);
    else
        return !tool_usage("--sync is always, never or a number of seconds (2, 500ms, 1m), "
                           "not '%s'",
                           text);
    return true;
}

bool tool_sieve_option(struct tool_sieve_command *command, int option)
{
    switch (option) {
    case 'q':
        command->quiet = true;
        return true;
    case TOOL_SIEVE_OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &command->memory);
    case TOOL_SIEVE_OPTION_SYNC:
        return take_sync(command, optarg);
    case TOOL_SIEVE_OPTION_WAIT:
        return tool_option_seconds("--wait", optarg, 0, &command->wait);
    case TOOL_SIEVE_OPTION_JSON:
        command->json = true;
        return true;
    default:
        return false;
    }
}

static bool take_fingerprint_bits(struct tool_sieve_command *command, const char *text)
{
    const bool known = strcmp(text, "64") == 0 || strcmp(text, "48") == 0;
    if (known)
        command->options.fingerprint_bits = text[0] == '6' ? 64 : 48;
    else
        tool_usage("--fingerprint-bits %s: must be 64 or 48", text);
    return known;
}

static bool take_partitions(struct tool_sieve_command *command, const char *text)
{
    uint32_t partitions;
    if (!tool_option_small("--partitions", text, 1, 256, &partitions))
        return false;
    command->options.partitions = partitions;
    return (partitions & (partitions - 1)) == 0 ||
           !tool_usage("--partitions %s: must be a power of two, 1 to 256", text);
}

bool tool_sieve_make_option(struct tool_sieve_command *command, int option)
{
    static const char *const engines[] = {"memory", "disk"};
    static const char *const fulls[] = {"grow", "stop", "warn"};
    static const char *const canons[] = {"none", "url", "url-query"};
    static const char *const presets[] = {"lineage"};
    bloomery_sieve_options *options = &command->options;
    int name;
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MAX, &options->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &options->rate);
    case TOOL_SIEVE_OPTION_ENGINE:
        name = take_name("--engine", optarg, engines, 2);
        options->engine = name == 0 ? BLOOMERY_SIEVE_MEMORY : BLOOMERY_SIEVE_DISK;
        return name >= 0;
    case TOOL_SIEVE_OPTION_FULL:
        name = take_name("--on-full", optarg, fulls, 3);
        options->full = name > 0 ? (bloomery_sieve_full)name : BLOOMERY_SIEVE_GROW;
        return name >= 0;
    case TOOL_SIEVE_OPTION_CANON:
        name = take_name("--canon", optarg, canons, 3);
        options->canon = name >= 0 ? canons[name] : NULL;
        return name >= 0;
    case TOOL_SIEVE_OPTION_PRESET:
        if (take_name("--preset", optarg, presets, 1) < 0)
            return false;
        options->engine = BLOOMERY_SIEVE_MEMORY;
        options->full = BLOOMERY_SIEVE_WARN;
        options->dialect = "sieve-murmur3";
        if (options->rate == 0)
            options->rate = 0.01;
        return true;
    case TOOL_SIEVE_OPTION_DIALECT:
        options->dialect = optarg;
        return true;
    case TOOL_SIEVE_OPTION_FINGERPRINT_BITS:
        return take_fingerprint_bits(command, optarg);
    case TOOL_SIEVE_OPTION_PARTITIONS:
        return take_partitions(command, optarg);
    case TOOL_SIEVE_OPTION_ORDERED:
        options->order = BLOOMERY_SIEVE_ORDER_FIFO;
        return true;
    case TOOL_SIEVE_OPTION_LEASES:
        return tool_option_small("--leases", optarg, 1, 1000000, &options->leases);
    default:
        return tool_sieve_option(command, option);
    }
}

bool tool_sieve_read_plain(struct tool_sieve_command *command, int argc, char **argv,
                           const char *letters, const struct option *options, int *code)
{
    int option;
    tool_sieve_start(command);
    *code = TOOL_ERROR;
    while ((option = tool_getopt(argc, argv, letters, options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            *code = TOOL_FOUND;
        if (option == TOOL_OPTION_HELP || !tool_sieve_option(command, option))
            return false;
    }
    return tool_sieve_operand(command, argc, argv) && tool_sieve_no_more(argc, argv);
}

bool tool_sieve_operand(struct tool_sieve_command *command, int argc, char **argv)
{
    if (optind >= argc || argv[optind][0] == '\0')
        return !tool_usage("which sieve? Name its directory, as in 'bloomery %s crawl'", argv[0]);
    if (strcmp(argv[optind], "-") == 0)
        return !tool_usage("'-' is no directory: name the sieve's, then '-' for standard input");
    command->directory = argv[optind++];
    command->options.directory = command->directory;
    return true;
}

bool tool_sieve_no_more(int argc, char **argv)
{
    return optind >= argc || !tool_usage("'%s': one directory is all it takes", argv[optind]);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The minimum memory of the sieve itself, read from the library's sentence. It depends on
 * partitions and leases that only the library knows. 0 if the sentence has none. */
static uint64_t min_memory(const bloomery_error *error)
{
    static const char before[] = "needs at least ";
    const char *says = strstr(error->text, before);
    return says != NULL ? strtoull(says + strlen(before), NULL, 10) : 0;
}

static int refuse_memory(struct tool_sieve_command *command, const bloomery_error *error)
{
    char given[TOOL_NUMBER_BYTES], share[TOOL_NUMBER_BYTES], least[TOOL_NUMBER_BYTES];
    const uint64_t sieve = min_memory(error);
    tool_format_count(given, command->memory);
    tool_format_count(share, TOOL_SIEVE_SHARE);
    if (sieve == 0) {
        tool_sieve_error(command, error);
        tool_notice("of --memory %s bytes this command takes %s itself", given, share);
        return TOOL_ERROR;
    }
    const uint64_t sum = TOOL_SIEVE_SHARE + sieve;
    tool_error("%s: --memory %s bytes is too little: this command takes %s itself, and the least "
               "that works is %s bytes",
               command->directory, given, share,
               tool_format_count(least, (sum + 99999) / 100000 * 100000));
    return TOOL_ERROR;
}

/* Long items come and go in memory of their own. The C library learns to keep freed memory of such
 * sizes, up to four times a long item. Memory that is kept counts, so here it goes back to the
 * system at once. */
static void give_back_what_is_freed(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 64 << 10);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
}

/* ---- The sieve ------------------------------------------------------------------------------- */

bool tool_sieve_open(struct tool_sieve_command *command)
{
    bloomery_error error = {0};
    if (command->memory > 0) {
        command->options.memory =
            command->memory > TOOL_SIEVE_SHARE ? command->memory - TOOL_SIEVE_SHARE : 1;
        give_back_what_is_freed();
    }
    bloomery_status status = bloomery_sieve_open(&command->options, &command->sieve, &error);
    for (double waited = 0;
         status == BLOOMERY_BUSY && !command->passes_busy && waited < command->wait;
         waited += LOOK_AGAIN) {
        usleep((useconds_t)(LOOK_AGAIN * 1e6));
        status = bloomery_sieve_open(&command->options, &command->sieve, &error);
    }
    if (status == BLOOMERY_OK)
        return true;
    command->sieve = NULL;
    command->status = status;
    if (status == BLOOMERY_BUSY && command->passes_busy)
        return false;
    if (status == BLOOMERY_BUSY)
        tool_sieve_say_busy(command, &error);
    else if (status == BLOOMERY_BAD_ARGUMENT && command->memory > 0)
        refuse_memory(command, &error);
    else
        tool_sieve_error(command, &error);
    return false;
}

int tool_sieve_close(struct tool_sieve_command *command, int code)
{
    bloomery_error error = {0};
    bloomery_sieve *sieve = command->sieve;
    command->sieve = NULL;
    if (bloomery_sieve_close(sieve, &error) == BLOOMERY_OK)
        return code;
    if (!command->io_failed || error.status != BLOOMERY_IO_FAILED)
        tool_sieve_error(command, &error);
    return TOOL_ERROR;
}

int tool_sieve_error(struct tool_sieve_command *command, const bloomery_error *error)
{
    command->io_failed = command->io_failed || error->status == BLOOMERY_IO_FAILED;
    return tool_library_error(command->directory, error);
}

int tool_sieve_say_busy(struct tool_sieve_command *command, const bloomery_error *error)
{
    char text[240];
    const struct tool_sieve_holder holder = tool_sieve_find_holder(command->directory);
    if (holder.pid <= 0)
        return tool_sieve_error(command, error);
    tool_error("%s: another process is using it: %s", command->directory,
               tool_sieve_format_holder(&holder, text));
    return TOOL_ERROR;
}

bloomery_sieve_info tool_sieve_info(const struct tool_sieve_command *command)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(command->sieve, &info);
    return info;
}

const char *tool_sieve_things(char text[TOOL_SIEVE_TEXT], uint64_t count, const char *thing)
{
    char number[TOOL_NUMBER_BYTES];
    const char *plural = strcmp(thing, "push") == 0 ? "es" : "s";
    snprintf(text, TOOL_SIEVE_TEXT, "%s %s%s", tool_format_count(number, count), thing,
             count == 1 ? "" : plural);
    return text;
}

static void add_bytes(json_t *object, const char *name, const char *hex_name, bloomery_key bytes)
{
    json_t *text = json_stringn(bytes.data, bytes.bytes);
    if (text != NULL) {
        tool_json_add(object, name, text);
        return;
    }
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes.data;
    char *hex = tool_allocate(2 * bytes.bytes + 1);
    for (size_t i = 0; i < bytes.bytes; i++) {
        hex[2 * i] = digits[from[i] >> 4];
        hex[2 * i + 1] = digits[from[i] & 15];
    }
    hex[2 * bytes.bytes] = '\0';
    tool_json_add(object, hex_name, tool_json_text(hex));
    free(hex);
}

json_t *tool_sieve_json_item(const bloomery_sieve_item *item)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "number", tool_json_count(item->number));
    add_bytes(object, "key", "key_hex", item->key);
    if (item->payload.bytes > 0)
        add_bytes(object, "payload", "payload_hex", item->payload);
    return object;
}

/* ---- Sieve holder ---------------------------------------------------------------------------- */

/*
 * The holder of a sieve: the process that holds the lock of its directory, by /proc/locks, and its
 * command, by /proc/PID/cmdline. Both are a courtesy. A fact that a system or a container hides is
 * left out, and nothing depends on it.
 *
 *     5: FLOCK  ADVISORY  WRITE 4711 08:01:1835010 0 EOF
 *                               pid  device inode, major and minor number in hexadecimal
 */

struct lock {
    long pid;
    unsigned long major, minor;
    unsigned long long inode;
};

/* False if a line is none of a lock that is held alone, or of one that is waited for. */
static bool read_lock(const char *line, struct lock *lock)
{
    char *at = strstr(line, " WRITE ");
    if (at == NULL || strstr(line, "FLOCK ") == NULL || strstr(line, "->") != NULL)
        return false;
    lock->pid = strtol(at + strlen(" WRITE "), &at, 10);
    lock->major = strtoul(at, &at, 16);
    if (*at != ':')
        return false;
    lock->minor = strtoul(at + 1, &at, 16);
    if (*at != ':')
        return false;
    lock->inode = strtoull(at + 1, &at, 10);
    return *at == ' ' && lock->pid > 0;
}

/* Some file systems lock under another device than stat names. An inode alone is taken for the
 * directory only if no line has both. */
static long find_pid(const struct stat *facts)
{
    char line[256];
    long likely = 0, found = 0;
    FILE *locks = fopen("/proc/locks", "re");
    if (locks == NULL)
        return 0;
    while (found == 0 && fgets(line, sizeof(line), locks) != NULL) {
        struct lock lock;
        if (!read_lock(line, &lock) || lock.inode != facts->st_ino)
            continue;
        if (lock.major == major(facts->st_dev) && lock.minor == minor(facts->st_dev))
            found = lock.pid;
        likely = lock.pid;
    }
    fclose(locks);
    return found > 0 ? found : likely;
}

/* The words of a command, with blanks between them. Without its folder the first one is shorter. */
static void find_command(struct tool_sieve_holder *holder)
{
    char path[64], words[1024];
    snprintf(path, sizeof(path), "/proc/%ld/cmdline", holder->pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    const size_t bytes = fread(words, 1, sizeof(words) - 1, file);
    fclose(file);
    words[bytes] = '\0';
    const char *slash = strrchr(words, '/');
    size_t used = 0;
    for (size_t i = slash != NULL ? (size_t)(slash + 1 - words) : 0;
         i < bytes && used + 1 < sizeof(holder->command); i++) {
        const unsigned char byte = (unsigned char)words[i];
        holder->command[used++] = (char)(byte == 0 ? ' ' : byte < 32 || byte >= 127 ? '?' : byte);
    }
    while (used > 0 && holder->command[used - 1] == ' ')
        used--;
    holder->command[used] = '\0';
}

struct tool_sieve_holder tool_sieve_find_holder(const char *directory)
{
    struct tool_sieve_holder holder = {.pid = 0};
    struct stat facts;
    if (stat(directory, &facts) == 0)
        holder.pid = find_pid(&facts);
    if (holder.pid > 0)
        find_command(&holder);
    return holder;
}

const char *tool_sieve_format_holder(const struct tool_sieve_holder *holder, char text[240])
{
    if (holder->pid <= 0)
        snprintf(text, 240, "another process");
    else if (holder->command[0] == '\0')
        snprintf(text, 240, "process %ld", holder->pid);
    else
        snprintf(text, 240, "process %ld (%s)", holder->pid, holder->command);
    return text;
}
