/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of `sieve`, how it is opened, and who has it.
 *
 * --memory is the memory of the process as a whole, since a machine has to have that much. The
 * command takes a share of it for itself, TOOL_SIEVE_SHARE: libraries, code, stack, buffers for
 * input and output. The sieve gets the rest, so that the same --memory is the same sieve, in every
 * run, every subcommand and `plan --sieve`. Measuring what the process has taken instead (VmHWM)
 * gives a little more, and another number in each run.
 */
#include "command/sieve/sieve_command.h"

#include "base/numbers.h"
#include "base/out.h"
#include "base/report.h"
#include "filter/dialect_option.h"

#include <assert.h>
#include <ctype.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- Options --------------------------------------------------------------------------------- */

static bool take_sync(const char *option, const char *text, void *at)
{
    bloomery_sieve_options *options = at;
    options->sync = BLOOMERY_SIEVE_SYNC_TIMED;
    options->sync_seconds = 0;
    if (strcmp(text, "always") == 0)
        options->sync = BLOOMERY_SIEVE_SYNC_ALWAYS;
    else if (strcmp(text, "never") == 0)
        options->sync = BLOOMERY_SIEVE_SYNC_NEVER;
    else if (isdigit((unsigned char)text[0]) || text[0] == '.')
        return tool_option_seconds(option, text, TOOL_SECONDS_SOME, &options->sync_seconds);
    else
        return !tool_usage("%s is always, never or a number of seconds (2, 500ms, 1m), not '%s'",
                           option, text);
    return true;
}

#define ENGINES "memory|disk"
#define CANONS  "none|url|url-query"
#define PRESETS "lineage"

static bool take_engine(const char *option, const char *text, void *at)
{
    static const bloomery_sieve_engine engines[] = {BLOOMERY_SIEVE_MEMORY, BLOOMERY_SIEVE_DISK};
    int engine;
    if (!tool_take_choice(option, text, ENGINES, &engine))
        return false;
    *(bloomery_sieve_engine *)at = engines[engine];
    return true;
}

static bool take_canon(const char *option, const char *text, void *at)
{
    int canon;
    *(const char **)at = text;
    return tool_take_choice(option, text, CANONS, &canon);
}

static bool take_preset(const char *option, const char *text, void *at)
{
    bloomery_sieve_options *options = at;
    int preset;
    if (!tool_take_choice(option, text, PRESETS, &preset))
        return false;
    options->engine = BLOOMERY_SIEVE_MEMORY;
    options->full = BLOOMERY_SIEVE_WARN;
    options->dialect = "sieve-murmur3";
    if (options->rate == 0)
        options->rate = 0.01;
    return true;
}

static bool take_fingerprint_bits(const char *option, const char *text, void *at)
{
    const bool known = strcmp(text, "64") == 0 || strcmp(text, "48") == 0;
    if (!known)
        return !tool_usage("%s %s: must be 64 or 48", option, text);
    *(uint32_t *)at = text[0] == '6' ? 64 : 48;
    return true;
}

static bool take_partitions(const char *option, const char *text, void *at)
{
    uint32_t partitions;
    if (!tool_option_small(option, text, 1, 256, &partitions))
        return false;
    *(uint32_t *)at = partitions;
    return (partitions & (partitions - 1)) == 0 ||
           !tool_usage("%s %s: must be a power of two, 1 to 256", option, text);
}

static bool take_ordered(const char *option, const char *text, void *at)
{
    (void)option, (void)text;
    *(bloomery_sieve_order *)at = BLOOMERY_SIEVE_ORDER_FIFO;
    return true;
}

const struct tool_option tool_sieve_memory_options[] = {
    {0, "memory", "SIZE", TOOL_SIZE(struct tool_sieve_command, memory),
     .help = "limit the process's memory, libraries and buffers included (default: 64 MiB for "
             "the sieve). The memory engine has no limit by default. Compressed inputs, and "
             "lines of more than 256 KiB, need up to 4 MiB on top of the limit. Zstd and xz "
             "also need the window of the input. It has usually up to 8 MiB, 64 MiB with xz "
             "-9, and 2 GiB with --long=31",
     .more = "If it is too little, the message names the minimum that works. (For build and "
             "dedupe, --memory is the memory of the filter.)"},
    TOOL_OPTIONS_END,
};

const struct tool_option tool_sieve_sync_options[] = {
    {0, "sync", "WHEN", TOOL_CALL(struct tool_sieve_command, options, take_sync),
     .words = "always|never",
     .help = "set when work becomes durable, that is, survives a crash of the machine "
             "(default 1s). WHEN is always (with each batch of lines), a time (2, 500ms, 5m) "
             "or never. With never, the system decides, and a power cut may damage the sieve. "
             "Otherwise, all work is durable when the command has ended"},
    TOOL_OPTIONS_END,
};

const struct tool_option tool_sieve_wait_options[] = {
    {0, "wait", "TIME", TOOL_SECONDS(struct tool_sieve_command, wait, true),
     .help = "wait up to TIME if another process uses the sieve (default 10s). TIME is in "
             "seconds or has a unit (500ms, 30s, 5m, 1h). With 0, do not wait",
     .more = "If the time runs out, the message names the process that uses the sieve."},
    TOOL_OPTIONS_END,
};

const struct tool_option tool_sieve_report_options[] = {
    {'q', "quiet", NULL, TOOL_FLAG(struct tool_sieve_command, quiet),
     .help = "print no report at the end"},
    {0, "json", NULL, TOOL_FLAG(struct tool_sieve_command, json),
     .help = "print the report as one JSON object"},
    TOOL_OPTIONS_END,
};

const struct tool_option tool_sieve_make_options[] = {
    {0, "engine", "NAME", TOOL_CALL(struct tool_sieve_command, options.engine, take_engine),
     .words = ENGINES,
     .help = "choose where seen keys are stored (default disk). The disk engine stores sorted "
             "fingerprints in DIR, 8 bytes per key. It decides in batches which keys are new. "
             "The memory engine has a filter in memory and decides each key at once",
     .more = "Keys of the disk engine are pending until a batch of them is decided. The memory "
             "engine's filter is saved in the directory."},
    {'n', "keys", "N", TOOL_COUNT(struct tool_sieve_command, options.keys, 1, TOOL_KEYS_MAX),
     .help = "plan for N distinct keys (default 1M). The disk engine chooses its partitions "
             "by N, and can hold more keys"},
    {'p', "rate", "RATE", TOOL_RATE(struct tool_sieve_command, options.rate),
     .help = "set the memory engine's false-positive rate (default 1e-6). A new key is dropped as "
             "seen that often"},
    {0, "on-full", "=WHAT", TOOL_CHOICE(struct tool_sieve_command, options.full, "grow|stop|warn"),
     .help = "choose what the memory engine does when it holds N keys (default grow). With "
             "grow the rate holds, and with stop new keys are refused. With warn there is one "
             "warning, and the rate rises"},
    {0, "dialect", "NAME", TOOL_TEXT(struct tool_sieve_command, options.dialect),
     .words = TOOL_DIALECT_WORDS,
     .help = "use another system's filter in the memory engine. It needs --on-full=stop or "
             "--on-full=warn"},
    {0, "preset", "lineage", TOOL_CALL(struct tool_sieve_command, options, take_preset),
     .words = PRESETS,
     .help = "imitate the older queue on which the sieve is modelled. This is --engine memory "
             "--on-full=warn -p 0.01 --dialect sieve-murmur3, the same filter bit for bit; -n "
             "is its capacity"},
    {0, "fingerprint-bits", "B",
     TOOL_CALL(struct tool_sieve_command, options.fingerprint_bits, take_fingerprint_bits),
     .words = "64|48",
     .help = "use fingerprints of 64 or 48 bits (disk engine; default 64). With 48, a key "
             "takes 6 bytes. Of 1e9 new keys, about 1,800 are then dropped wrongly instead of "
             "0.03"},
    {0, "partitions", "P",
     TOOL_CALL(struct tool_sieve_command, options.partitions, take_partitions),
     .help = "use P partitions, a power of two up to 256 (disk engine)"},
    {0, "ordered", NULL, TOOL_CALL(struct tool_sieve_command, options.order, take_ordered),
     .help = "pop keys in the order of their first pushes: first in, first out, as in a "
             "breadth-first crawl. By default, only each partition keeps that order, and a "
             "key's partition is random",
     .more = "The memory engine always keeps that order."},
    {0, "canon", "NAME", TOOL_CALL(struct tool_sieve_command, options.canon, take_canon),
     .words = CANONS,
     .help = "convert keys to a canonical form first (default none). With url, scheme and "
             "host become lower case; the default port and the fragment are removed. With "
             "url-query, the parameters are sorted, too",
     .more = "Keys come out in that form."},
    {0, "leases", "N", TOOL_SMALL(struct tool_sieve_command, options.leases, 1, 1000000),
     .help = "allow up to N leased keys at a time (default 4096). This may be changed later",
     .more = "push, mark, import and pop change it permanently in an existing sieve."},
    TOOL_OPTIONS_END,
};

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

bool tool_sieve_fits_together(const struct tool_sieve_command *command)
{
    const bloomery_sieve_options *options = &command->options;
    if (options->engine == BLOOMERY_SIEVE_DISK &&
        (options->rate > 0 || options->full != BLOOMERY_SIEVE_GROW || options->dialect != NULL))
        return !tool_usage("-p, --on-full and --dialect are for --engine memory; the disk engine "
                           "has no filter");
    if (options->engine == BLOOMERY_SIEVE_MEMORY &&
        (options->fingerprint_bits > 0 || options->partitions > 0 ||
         options->order != BLOOMERY_SIEVE_ORDER_BY_PARTITION))
        return !tool_usage("--fingerprint-bits, --partitions and --ordered are for --engine disk");
    return true;
}

bool tool_sieve_operand(struct tool_sieve_command *command, int argc, char **argv)
{
    if (optind >= argc || argv[optind][0] == '\0')
        return !tool_usage("no sieve: name its directory, as in 'bloomery %s crawl'", argv[0]);
    if (strcmp(argv[optind], "-") == 0)
        return !tool_usage("'-' is not a directory: name the sieve's, then '-' for standard input");
    command->directory = argv[optind++];
    command->options.directory = command->directory;
    return true;
}

bool tool_sieve_sole_operand(struct tool_sieve_command *command, int argc, char **argv)
{
    return tool_sieve_operand(command, argc, argv) &&
           (optind >= argc || !tool_usage("'%s': only one directory is allowed", argv[optind]));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int refuse_memory(struct tool_sieve_command *command, const bloomery_error *error)
{
    /* The minimum for the sieve itself is read from the library's sentence, as only the library
     * knows the partitions and leases. 0 if the sentence has none. */
    static const char before[] = "needs at least ";
    const char *says = strstr(error->text, before);
    const uint64_t sieve = says != NULL ? strtoull(says + strlen(before), NULL, 10) : 0;
    const uint64_t sum = TOOL_SIEVE_SHARE + sieve;
    if (sieve == 0) {
        tool_sieve_error(command, error);
        tool_notice("of --memory %s bytes, this command itself uses %s",
                    TOOL_SAY_COUNT(command->memory), TOOL_SAY_COUNT(TOOL_SIEVE_SHARE));
        return TOOL_ERROR;
    }
    tool_error("%s: --memory %s bytes is too little: this command itself uses %s, and the "
               "minimum that works is %s bytes",
               command->directory, TOOL_SAY_COUNT(command->memory),
               TOOL_SAY_COUNT(TOOL_SIEVE_SHARE), TOOL_SAY_COUNT((sum + 99999) / 100000 * 100000));
    return TOOL_ERROR;
}

/* ---- The holder ------------------------------------------------------------------------------ */

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
    assert(used < sizeof(holder->command));
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

/* ---- The sieve ------------------------------------------------------------------------------- */

bool tool_sieve_open(struct tool_sieve_command *command)
{
    bloomery_error error = {0};
    assert(command->sieve == NULL && command->directory == command->options.directory);
    if (command->memory > 0) {
        command->options.memory =
            command->memory > TOOL_SIEVE_SHARE ? command->memory - TOOL_SIEVE_SHARE : 1;
        /* Long items come and go in memory of their own. The C library learns to keep freed memory
         * of such sizes, up to four times a long item. Memory that is kept counts, so here it goes
         * back to the system at once. */
#ifdef __GLIBC__
        mallopt(M_MMAP_THRESHOLD, 64 << 10);
        mallopt(M_TRIM_THRESHOLD, 128 << 10);
#endif
    }
    bloomery_status status = bloomery_sieve_open(&command->options, &command->sieve, &error);
    for (double waited = 0;
         status == BLOOMERY_BUSY && !command->passes_busy && waited < command->wait;
         waited += TOOL_SIEVE_LOOK_AGAIN) {
        usleep((useconds_t)(TOOL_SIEVE_LOOK_AGAIN * 1e6));
        status = bloomery_sieve_open(&command->options, &command->sieve, &error);
    }
    command->status = status;
    assert((status == BLOOMERY_OK) == (command->sieve != NULL));
    if (status == BLOOMERY_BUSY && !command->passes_busy)
        tool_sieve_say_busy(command, &error);
    else if (status == BLOOMERY_BAD_ARGUMENT && command->memory > 0)
        refuse_memory(command, &error);
    else if (status != BLOOMERY_OK && status != BLOOMERY_BUSY)
        tool_sieve_error(command, &error);
    return status == BLOOMERY_OK;
}

int tool_sieve_close(struct tool_sieve_command *command, int code)
{
    bloomery_error error = {0};
    bloomery_sieve *sieve = command->sieve;
    assert(sieve != NULL);
    command->sieve = NULL;
    if (bloomery_sieve_close(sieve, &error) == BLOOMERY_OK)
        return code;
    if (!command->io_failed || error.status != BLOOMERY_IO_FAILED)
        tool_sieve_error(command, &error);
    return TOOL_ERROR;
}

bool tool_sieve_flush_all(struct tool_sieve_command *command)
{
    bloomery_error error = {0};
    assert(command->sieve != NULL);
    if (bloomery_sieve_flush(command->sieve, &error) == BLOOMERY_OK &&
        bloomery_sieve_commit(command->sieve, &error) == BLOOMERY_OK)
        return true;
    tool_sieve_error(command, &error);
    tool_sieve_close(command, TOOL_ERROR);
    return false;
}

int tool_sieve_error(struct tool_sieve_command *command, const bloomery_error *error)
{
    assert(error->status != BLOOMERY_OK);
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
    assert(command->sieve != NULL);
    bloomery_sieve_info_get(command->sieve, &info);
    return info;
}

/* ---- Output ---------------------------------------------------------------------------------- */

const char *tool_sieve_format_things(char text[TOOL_SIEVE_TEXT], uint64_t count, const char *thing)
{
    const char *plural = strcmp(thing, "push") == 0 ? "es" : "s";
    const int bytes = snprintf(text, TOOL_SIEVE_TEXT, "%s %s%s", TOOL_SAY_COUNT(count), thing,
                               count == 1 ? "" : plural);
    assert(bytes > 0 && bytes < TOOL_SIEVE_TEXT);
    (void)bytes;
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

static int take_json(const char *text, size_t bytes, void *out)
{
    tool_out_bytes(out, text, bytes);
    return 0;
}

void tool_sieve_begin_items(struct tool_out *out, const char *command)
{
    tool_out_format(out, "{\n  \"schema\": 1,\n  \"command\": \"%s\",\n  \"items\": [", command);
}

void tool_sieve_print_item(struct tool_out *out, uint64_t before, json_t *item)
{
    tool_out_text(out, before == 0 ? "\n    " : ",\n    ");
    json_dump_callback(item, take_json, out, 0);
    json_decref(item);
}

void tool_sieve_end_items(struct tool_out *out, uint64_t count)
{
    tool_out_text(out, count > 0 ? "\n  ]\n}\n" : "]\n}\n");
}
