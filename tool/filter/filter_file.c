/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sort of a file is found in this order:
 *
 *     begins with our magic             ours; it knows its dialect itself
 *     a dialect was named               that one's
 *     begins with a dialect's magic     that one's, unpacked where it is compressed
 *     anything else                     ours, and opening it then fails
 *
 * Formats without a magic are never guessed: nearly any bytes of the right length are one of them,
 * and the answers would be nonsense without a warning. A message says what a file looks like
 * (sniff.h).
 *
 * Other systems' files are read whole, and the library makes a copy, so that twice their size has
 * to fit into memory. This is checked first: a mistyped name of a disk image must not bring the
 * machine down.
 */
#include "filter/filter_file.h"

#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "base/system.h"
#include "filter/files.h"
#include "filter/filter_report.h"
#include "filter/sniff.h"
#include "input/input.h"
#include "input/unpack.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Reading --------------------------------------------------------------------------------- */

enum { HEAD_BYTES = TOOL_LOOK_HEAD, FIRST_BYTES = 1 << 16 };

struct reader {
    const char *path;
    bool quiet;
    struct tool_stream stream;
    struct tool_unpack *unpack; /* NULL: plain */
    unsigned char head[HEAD_BYTES];
    size_t head_bytes; /* packed ones, which recognised it */
    uint64_t file_bytes;
    bloomery_limits limits; /* of memory, when it was opened */
    void *map;              /* `file_bytes` long; NULL: not mapped */
};

static bool fail_reading(const struct reader *reader, const char *why)
{
    if (!reader->quiet)
        tool_error("%s: %s", tool_path_said(reader->path), why);
    return false;
}

static void reader_close(struct reader *reader)
{
    if (reader->unpack != NULL)
        tool_unpack_close(reader->unpack);
}

/* From the beginning of a file, or what is left of standard input: reads the first bytes and sees
 * whether it is packed. */
static bool reader_open(struct reader *reader, const struct tool_filter_file *file, bool quiet)
{
    bool undecided;
    *reader = (struct reader){
        .path = file->path,
        .quiet = quiet,
        .stream = {.descriptor = file->descriptor, .wake = -1},
        .file_bytes = file->origin.bytes,
        .limits = BLOOMERY_LIMITS,
    };
    bloomery_limits_get(&reader->limits);
    if (file->descriptor == STDIN_FILENO && tool_standard_input_is_closed())
        return fail_reading(reader, TOOL_STDIN_CLOSED);
    if (file->descriptor < 0)
        return fail_reading(reader, file->reason == EISDIR ? "is a directory, not a filter"
                                                           : strerror(file->reason));
    if (file->descriptor > STDIN_FILENO && lseek(file->descriptor, 0, SEEK_SET) != 0)
        return fail_reading(reader, strerror(errno));
    for (ssize_t count = 1; count > 0 && reader->head_bytes < HEAD_BYTES;) {
        count = tool_stream_read(&reader->stream, reader->head + reader->head_bytes,
                                 HEAD_BYTES - reader->head_bytes);
        if (count < 0)
            return fail_reading(reader, strerror(errno));
        reader->head_bytes += (size_t)count;
    }
    assert(reader->head_bytes <= HEAD_BYTES);
    const enum tool_packing packing = tool_packing_of(reader->head, reader->head_bytes, &undecided);
    if (tool_packing_is_stream(packing))
        reader->unpack =
            tool_unpack_open(&reader->stream, packing, reader->head, reader->head_bytes, '\n');
    return true;
}

/* Up to `room` bytes, unpacked; 0 at the end, -1 after a message. */
static ssize_t reader_read(struct reader *reader, unsigned char *to, size_t room)
{
    if (reader->unpack == NULL && reader->head_bytes > 0) {
        const size_t count = reader->head_bytes < room ? reader->head_bytes : room;
        memcpy(to, reader->head, count);
        memmove(reader->head, reader->head + count, reader->head_bytes - count);
        reader->head_bytes -= count;
        return (ssize_t)count;
    }
    ssize_t count = reader->unpack != NULL ? tool_unpack_read(reader->unpack, to, room)
                                           : tool_stream_read(&reader->stream, to, room);
    if (count < 0)
        fail_reading(reader,
                     reader->unpack != NULL ? tool_unpack_error(reader->unpack) : strerror(errno));
    return count;
}

/* In half of the memory that there is: the library makes a copy. */
static bool fits_memory(const struct reader *reader, uint64_t bytes)
{
    char most[TOOL_NUMBER_BYTES];
    if (bytes <= reader->limits.room / 2)
        return true;
    tool_error("%s: is larger than %s, half of the memory that it could have: %s. Another system's "
               "filter is read as a whole",
               tool_path_said(reader->path), tool_format_size(most, reader->limits.room / 2),
               reader->limits.text);
    return false;
}

/* All of it, in memory that is the caller's. Mapped if it can be: of a file that its first bytes
 * refuse, no others are read. NULL after a message. */
static unsigned char *read_all(struct reader *reader, size_t *bytes)
{
    size_t room = FIRST_BYTES;
    ssize_t count = 1;
    if (!fits_memory(reader, reader->file_bytes))
        return NULL;
    if (reader->unpack == NULL && reader->stream.descriptor > STDIN_FILENO)
        reader->map = tool_watched_map(reader->stream.descriptor, reader->path, reader->file_bytes);
    *bytes = reader->map != NULL ? (size_t)reader->file_bytes : 0;
    if (reader->map != NULL)
        return reader->map;
    if (reader->unpack == NULL && reader->file_bytes >= room)
        room = (size_t)reader->file_bytes + 1; /* one more shows the end */
    unsigned char *data = tool_allocate(room);
    while (count > 0) {
        if (*bytes == room) {
            room += room / 2;
            data = tool_reallocate(data, room);
        }
        count = reader_read(reader, data + *bytes, room - *bytes);
        *bytes += count > 0 ? (size_t)count : 0;
        if (count > 0 && !fits_memory(reader, *bytes))
            count = -1;
    }
    assert(*bytes <= room);
    if (count == 0)
        return data;
    free(data);
    return NULL;
}

/* ---- What it is ------------------------------------------------------------------------------ */

/* The first bytes of a packed file, unpacked. They are fewer if it is shorter, damaged or can't be
 * read, which is reported when all of it is read. */
static size_t look_inside(const struct tool_filter_file *file, unsigned char head[HEAD_BYTES])
{
    struct reader reader;
    size_t count = 0;
    ssize_t more = reader_open(&reader, file, true) && reader.unpack != NULL;
    while (more > 0 && count < HEAD_BYTES) {
        more = tool_unpack_read(reader.unpack, head + count, HEAD_BYTES - count);
        count += more > 0 ? (size_t)more : 0;
    }
    reader_close(&reader);
    return count;
}

/* A file that is not ours is looked at more closely; the library does so with ours. */
static bool look_closer(struct tool_filter_file *file, bool seekable)
{
    struct stat facts;
    const bool there = fstat(file->descriptor, &facts) == 0;
    if (there && S_ISDIR(facts.st_mode)) {
        tool_filter_file_close(file);
        file->reason = EISDIR;
        return true;
    }
    if (!seekable || !there || !S_ISREG(facts.st_mode)) {
        tool_filter_file_close(file);
        return tool_filter_refuse(file->path);
    }
    file->origin.bytes = (uint64_t)facts.st_size;
    return true;
}

static bool look_at(struct tool_filter_file *file, const struct tool_dialect_choice *chosen)
{
    unsigned char head[HEAD_BYTES];
    uint64_t count = 0;
    bool undecided;
    const int reason = tool_read_at(file->descriptor, 0, head, HEAD_BYTES, &count);
    const enum tool_packing packing = tool_packing_of(head, (size_t)count, &undecided);
    file->origin.ours = packing == TOOL_FILTER;
    if (file->origin.ours)
        return true;
    if (!look_closer(file, reason != ESPIPE))
        return false;
    file->origin.packed = tool_packing_is_stream(packing);
    if (file->origin.packed)
        count = look_inside(file, head);
    if (file->origin.packed && tool_packing_of(head, (size_t)count, &undecided) == TOOL_FILTER) {
        /* Our filters are used where they lie. */
        tool_error("%s: is a filter that is %s: '%s' makes a usable file of it", file->path,
                   tool_packing_name(packing), tool_packing_unpacker(packing));
        tool_filter_file_close(file);
        return false;
    }
    file->origin.dialect = chosen != NULL && chosen->dialect != NULL
                               ? chosen->dialect
                               : bloomery_dialect_sniff(head, (size_t)count);
    return true;
}

bool tool_filter_file_open(struct tool_filter_file *file, const char *path,
                           const struct tool_dialect_choice *chosen)
{
    /* O_NONBLOCK: a FIFO given by mistake must not hang here. */
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    *file = (struct tool_filter_file){.path = path, .descriptor = open(path, flags)};
    if (file->descriptor >= 0)
        return look_at(file, chosen);
    file->reason = errno;
    file->origin.dialect = chosen != NULL ? chosen->dialect : NULL;
    /* ENXIO: a socket. */
    if (file->reason == ENXIO || (file->reason == ENOENT && strcmp(path, "-") == 0))
        return tool_filter_refuse(path);
    return true;
}

bool tool_filter_file_held(struct tool_filter_file *file, const char *path, int descriptor,
                           const struct tool_dialect_choice *chosen)
{
    *file = (struct tool_filter_file){.path = path,
                                      .descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)};
    if (file->descriptor >= 0)
        return look_at(file, chosen);
    file->reason = errno;
    return true;
}

void tool_filter_file_stdin(struct tool_filter_file *file, const bloomery_dialect *dialect)
{
    struct stat facts;
    *file = (struct tool_filter_file){.path = "-", .descriptor = STDIN_FILENO};
    file->origin.dialect = dialect;
    if (fstat(STDIN_FILENO, &facts) == 0 && S_ISREG(facts.st_mode))
        file->origin.bytes = (uint64_t)facts.st_size;
}

void tool_filter_file_close(struct tool_filter_file *file)
{
    if (file->descriptor > STDIN_FILENO)
        close(file->descriptor);
    file->descriptor = -1;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Before its bits come the header and the records. */
enum { PREFIX_BYTES = 16384 };

/* Maps one of our own filters in a file that is open. The map is watched (system.h), and `path`
 * must stay. With a `copy` it is read into memory instead, and `copy` receives it too, to be
 * changed. NULL with the reason in `error`. */
static const bloomery_filter *map_ours(const struct tool_filter_file *file,
                                       const bloomery_open_options *options, bloomery_filter **copy,
                                       bloomery_error *error)
{
    const int descriptor = file->descriptor;
    struct stat facts;
    const bloomery_filter *filter = NULL;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_open_options opening = *options;
    const void *data;
    uint64_t bytes;
    opening.descriptor = descriptor;
    if (copy != NULL)
        return bloomery_open(NULL, &opening, copy, error) == BLOOMERY_OK ? *copy : NULL;
    bloomery_filter *read = NULL;
    if (file->in_memory && bloomery_open(NULL, &opening, &read, error) == BLOOMERY_OK)
        return read;
    const bool known = fstat(descriptor, &facts) == 0;
    if (bloomery_map(NULL, &opening, &filter, error) != BLOOMERY_OK)
        return NULL;
    bloomery_info_get(filter, &info);
    if (known && info.mapped && bloomery_layer_span(filter, 0, &data, &bytes) == BLOOMERY_OK)
        tool_watched_add(file->path, &facts, (const char *)data - PREFIX_BYTES,
                         (size_t)facts.st_size + PREFIX_BYTES);
    return filter;
}

const bloomery_filter *tool_filter_load(const struct tool_filter_file *file,
                                        const bloomery_open_options *options,
                                        const struct tool_dialect_choice *chosen,
                                        bloomery_filter **copy, bloomery_error *error)
{
    const bloomery_dialect *dialect = file->origin.dialect;
    bloomery_filter *filter = NULL;
    struct reader reader;
    size_t bytes = 0;
    *error = (bloomery_error){.status = BLOOMERY_OK};
    if (dialect == NULL && file->descriptor < 0) {
        error->status = BLOOMERY_IO_FAILED; /* in the library's words */
        snprintf(error->text, sizeof(error->text), "%s: %s", file->path,
                 file->reason == EISDIR ? "is a directory" : strerror(file->reason));
        return NULL;
    }
    if (dialect == NULL)
        return map_ours(file, options, copy, error);
    unsigned char *data = reader_open(&reader, file, false) ? read_all(&reader, &bytes) : NULL;
    reader_close(&reader);
    if (data == NULL)
        return NULL;
    const bool named = chosen != NULL && chosen->dialect != NULL;
    const bloomery_dialect_parameters *parameters = named ? &chosen->parameters : NULL;
    bloomery_dialect_load(dialect, data, bytes, parameters, options, &filter, error);
    if (copy != NULL)
        *copy = filter;
    reader.map != NULL ? tool_watched_unmap(data, bytes) : free(data);
    return filter;
}

/* What the file seems to be. False if nothing known, also if it can't be read. */
static bool find_look(const struct tool_filter_file *file, struct tool_look *look)
{
    struct tool_looked_at at = {.head_bytes = 0};
    uint64_t count = 0;
    bool undecided;
    if (file->descriptor < 0 || tool_read_at(file->descriptor, 0, at.head, HEAD_BYTES, &count) != 0)
        return false;
    at.head_bytes = (size_t)count;
    if (tool_packing_is_stream(tool_packing_of(at.head, at.head_bytes, &undecided))) {
        at.head_bytes = look_inside(file, at.head);
        return tool_looks_like(&at, look);
    }
    at.length_known = true;
    at.bytes = file->origin.bytes;
    count = 0;
    at.has_tail = at.bytes > TOOL_LOOK_TAIL &&
                  tool_read_at(file->descriptor, at.bytes - TOOL_LOOK_TAIL, at.tail, TOOL_LOOK_TAIL,
                               &count) == 0 &&
                  count == TOOL_LOOK_TAIL;
    return tool_looks_like(&at, look);
}

static void say_look(const struct tool_filter_file *file, const char *option,
                     const struct tool_look *look)
{
    if (look->reading == NULL)
        tool_say("this looks like %s", look->text);
    else if (option != NULL)
        tool_say("this looks like %s; if it is, say %s %s", look->text, option, look->reading);
    else
        tool_say("this looks like %s; if it is, 'bloomery convert --from %s -o OUT %s' "
                 "converts it",
                 look->text, look->reading, file->path);
}

/* Whether a file is empty, or as much of our magic as it is long. */
static bool begins_as_ours(const struct tool_filter_file *file)
{
    static const unsigned char magic[] = "\x89"
                                         "BLOOM\r\n";
    unsigned char head[sizeof(magic) - 1];
    uint64_t count = 0;
    return file->origin.ours ||
           (file->descriptor >= 0 &&
            tool_read_at(file->descriptor, 0, head, sizeof(head), &count) == 0 &&
            memcmp(head, magic, (size_t)count) == 0);
}

void tool_foreign_hint(const struct tool_filter_file *file, const char *option,
                       bloomery_status status)
{
    const bloomery_dialect *dialect = file->origin.dialect;
    struct tool_look look;
    if ((status != BLOOMERY_NOT_A_FILTER && status != BLOOMERY_TRUNCATED) || begins_as_ours(file))
        return;
    if (dialect != NULL)
        tool_say("it is a filter of another system, %s; 'bloomery convert --from %s -o OUT %s' "
                 "converts it",
                 dialect->name, dialect->name, file->path);
    else if (find_look(file, &look))
        say_look(file, option, &look);
    else if (option != NULL)
        tool_say(
            "if another system wrote it, %s NAME says which. These formats carry no signature: "
            "%s",
            option, tool_looks_like_nothing);
    else
        tool_say("if another system wrote it, 'bloomery convert --from NAME -o OUT %s' "
                 "converts it; 'bloomery dialects' lists the names",
                 file->path);
}

void tool_foreign_hint_other(const struct tool_filter_file *file,
                             const struct tool_dialect_choice *chosen)
{
    struct tool_look look;
    const char *const name = file->origin.dialect->name;
    const size_t length = strlen(name);
    if (chosen == NULL || chosen->dialect == NULL || !find_look(file, &look))
        return;
    if (look.reading == NULL || strncmp(look.reading, name, length) != 0 ||
        (look.reading[length] != '\0' && look.reading[length] != ','))
        say_look(file, chosen->option, &look);
}

bool tool_origin_agrees(const char *path, const struct tool_dialect_choice *chosen,
                        const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (chosen == NULL || chosen->dialect == NULL || chosen->ours_too ||
        chosen->dialect->id == info.dialect)
        return true;
    const bloomery_dialect *dialect = bloomery_dialect_get(info.dialect);
    tool_error("%s: is a Bloomery file%s%s; leave %s out", path,
               dialect != NULL ? " with a filter of dialect " : "",
               dialect != NULL ? dialect->name : "", chosen->option);
    return false;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct output {
    int reason; /* errno of a write that failed, or 0 */
    uint64_t bytes;
};

static int write_to_stdout(void *context, const void *data, size_t bytes)
{
    struct output *output = context;
    output->reason = tool_write_all(STDOUT_FILENO, data, bytes, &output->bytes);
    return output->reason == 0 ? 0 : -1;
}

/* What comes of writing a filter; false after a message. */
static bool is_written(bloomery_status status, const char *path, const struct output *output,
                       const bloomery_error *error)
{
    if (status == BLOOMERY_OK)
        return true;
    if (output->reason != 0)
        tool_error("writing to stdout: %s", strerror(output->reason));
    else
        tool_library_error(path, error);
    return false;
}

bool tool_filter_to_stdout(const bloomery_filter *filter)
{
    struct output output = {.reason = 0};
    bloomery_error error;
    const bloomery_status status = bloomery_write(filter, write_to_stdout, &output, &error);
    return is_written(status, NULL, &output, &error);
}

bool tool_foreign_write(const bloomery_filter *filter, const bloomery_dialect *dialect,
                        const char *path, uint64_t *bytes)
{
    struct output output = {.reason = 0};
    bloomery_error error;
    struct stat facts;
    const bool to_stdout = strcmp(path, "-") == 0;
    const bloomery_status status =
        to_stdout ? bloomery_dialect_write(filter, dialect, write_to_stdout, &output, &error)
                  : bloomery_dialect_save(filter, dialect, path, &error);
    if (!to_stdout && status == BLOOMERY_OK && stat(path, &facts) == 0)
        output.bytes = (uint64_t)facts.st_size;
    if (bytes != NULL)
        *bytes = output.bytes;
    return is_written(status, to_stdout ? NULL : path, &output, &error);
}

static void add_parameter(char text[TOOL_READING_BYTES], const char *name, uint64_t value)
{
    const size_t used = strlen(text);
    snprintf(text + used, TOOL_READING_BYTES - used, ",%s=%llu", name, (unsigned long long)value);
}

bool tool_foreign_reading(const bloomery_filter *filter, const bloomery_dialect *dialect,
                          char text[TOOL_READING_BYTES])
{
    const char *const takes = dialect->load_takes, *const needs = dialect->load_needs;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const char *variant = info.dialect == dialect->id && tool_dialect_list_has(takes, "variant")
                              ? bloomery_dialect_variant(filter)
                              : NULL;
    const char *const variants = dialect->variants != NULL ? dialect->variants : "";
    const size_t first = strcspn(variants, ",");
    snprintf(text, TOOL_READING_BYTES, "%s", dialect->name);
    if (variant != NULL && (strlen(variant) != first || memcmp(variant, variants, first) != 0)) {
        const size_t used = strlen(text);
        snprintf(text + used, TOOL_READING_BYTES - used, ",variant=%s", variant);
    }
    /* If only one of several forms needs the plan, it is not the default. */
    if (tool_dialect_list_has(needs, "keys") &&
        (dialect->variants == NULL || strchr(text, ',') != NULL)) {
        char rate[TOOL_NUMBER_BYTES];
        add_parameter(text, "keys", info.planned_keys);
        const size_t used = strlen(text);
        snprintf(text + used, TOOL_READING_BYTES - used, ",rate=%s",
                 tool_format_exact(rate, info.planned_rate));
    }
    if (tool_dialect_list_has(needs, "bits"))
        add_parameter(text, "bits", info.bits);
    if (tool_dialect_list_has(needs, "probes"))
        add_parameter(text, "probes", info.probes);
    if (info.seed != 0 && tool_dialect_list_has(takes, "seed"))
        add_parameter(text, "seed", info.seed);
    return strchr(text, ',') != NULL;
}

void tool_foreign_say_reading(const bloomery_filter *filter, const bloomery_dialect *dialect)
{
    char text[TOOL_READING_BYTES];
    if (tool_foreign_reading(filter, dialect, text))
        tool_say("the file does not record all parameters; to read it: --dialect %s", text);
}

/* A sink that stops if the file has something else. */
static int compare_with_file(void *context, const void *data, size_t bytes)
{
    struct reader *reader = context;
    unsigned char piece[4096];
    const unsigned char *next = data;
    while (bytes > 0) {
        const ssize_t count =
            reader_read(reader, piece, bytes < sizeof(piece) ? bytes : sizeof(piece));
        if (count <= 0 || memcmp(piece, next, (size_t)count) != 0)
            return -1;
        next += count;
        bytes -= (size_t)count;
    }
    return 0;
}

bool tool_foreign_is_whole(const struct tool_filter_file *file, const bloomery_filter *filter,
                           const bloomery_dialect *dialect)
{
    struct reader reader;
    unsigned char more;
    bool whole =
        reader_open(&reader, file, true) &&
        bloomery_dialect_write(filter, dialect, compare_with_file, &reader, NULL) == BLOOMERY_OK &&
        reader_read(&reader, &more, 1) == 0;
    reader_close(&reader);
    return whole;
}

/* ---- Remarks --------------------------------------------------------------------------------- */

enum { REMARK_BYTES = 600 };

void tool_remarks_say(const char *path, const bloomery_filter *filter)
{
    char text[REMARK_BYTES];
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, text, sizeof(text)); i++)
        tool_notice("%s: %s", path, text);
}

void tool_remarks_add(struct tool_report *report, const char *name, const char *label,
                      const bloomery_filter *filter)
{
    char text[REMARK_BYTES];
    struct tool_report *list = tool_fact_list(report, name);
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, text, sizeof(text)); i++) {
        tool_fact(list, NULL, NULL, tool_text(text));
        if (label != NULL)
            tool_fact(report, NULL, label, tool_text(text));
    }
}

/* ---- Opening, with messages ------------------------------------------------------------------ */

/* Opens a file that has our format. `dialect_option` is the option by which the command takes other
 * systems' files, for a hint if this is one of them. NULL: it takes none. */
static const bloomery_filter *open_ours(const struct tool_filter_file *file,
                                        bloomery_open_options options, const char *secret_file,
                                        const char *dialect_option, bloomery_filter **copy)
{
    struct tool_filter_file ours = *file;
    uint8_t key[BLOOMERY_SECRET_BYTES];
    bloomery_error error;
    ours.origin.dialect = NULL; /* whatever it is */
    if (secret_file != NULL) {
        if (!tool_secret_read(secret_file, key))
            return NULL;
        options.secret = key;
    }
    const bloomery_filter *filter = tool_filter_load(&ours, &options, NULL, copy, &error);
    explicit_bzero(key, sizeof(key));
    if (filter != NULL)
        return filter;
    tool_library_error(file->path, &error);
    if (error.status == BLOOMERY_SECRET_NEEDED && secret_file == NULL)
        tool_say("--secret-file FILE gives the secret");
    tool_foreign_hint(file, dialect_option, error.status);
    return NULL;
}

const bloomery_filter *tool_filter_inspect(const char *path)
{
    struct tool_filter_file file;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true;
    if (!tool_filter_file_open(&file, path, NULL))
        return NULL;
    const bloomery_filter *filter = open_ours(&file, options, NULL, NULL, NULL);
    tool_filter_file_close(&file);
    return filter;
}

/* And closes the file. */
static bloomery_filter *read_ours(struct tool_filter_file *file, bloomery_open_options options,
                                  const char *secret_file)
{
    bloomery_filter *filter = NULL;
    (void)open_ours(file, options, secret_file, NULL, &filter);
    tool_filter_file_close(file);
    return filter;
}

bloomery_filter *tool_filter_open(const char *path, bloomery_open_options options,
                                  const char *secret_file)
{
    struct tool_filter_file file;
    return tool_filter_file_open(&file, path, NULL) ? read_ours(&file, options, secret_file) : NULL;
}

bloomery_filter *tool_filter_open_held(const char *path, int lock, const char *secret_file)
{
    struct tool_filter_file file;
    const bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    return tool_filter_file_held(&file, path, lock, NULL) ? read_ours(&file, options, secret_file)
                                                          : NULL;
}

/* The file knows whose filter it has. */
static const bloomery_filter *open_agreeing(const struct tool_filter_file *file,
                                            bloomery_open_options options, const char *secret_file,
                                            const struct tool_dialect_choice *chosen,
                                            bloomery_filter **copy)
{
    const char *option = chosen == NULL              ? NULL
                         : chosen->option[0] != '\0' ? chosen->option
                                                     : "--dialect";
    const bloomery_filter *filter = open_ours(file, options, secret_file, option, copy);
    if (filter == NULL || tool_origin_agrees(file->path, chosen, filter))
        return filter;
    bloomery_free(filter);
    if (copy != NULL)
        *copy = NULL;
    return NULL;
}

const bloomery_filter *tool_filter_open_file(const struct tool_filter_file *file,
                                             bloomery_open_options options, const char *secret_file,
                                             const struct tool_dialect_choice *chosen,
                                             bloomery_filter **copy)
{
    bloomery_error error;
    if (file->origin.dialect == NULL)
        return open_agreeing(file, options, secret_file, chosen, copy);
    if (secret_file != NULL) {
        tool_usage("--secret-file is for Bloomery files; %s is a file of %s", file->path,
                   file->origin.dialect->name);
        return NULL;
    }
    const bloomery_filter *filter = tool_filter_load(file, &options, chosen, copy, &error);
    if (filter == NULL && error.status != BLOOMERY_OK) {
        tool_library_error(file->path, &error);
        tool_foreign_hint_other(file, chosen);
    }
    return filter;
}

const bloomery_filter *tool_filter_open_any(const char *path, bloomery_open_options options,
                                            const char *secret_file,
                                            const struct tool_dialect_choice *chosen,
                                            struct tool_origin *origin)
{
    struct tool_filter_file file;
    if (!tool_filter_file_open(&file, path, chosen))
        return NULL;
    if (origin != NULL)
        *origin = file.origin;
    const bloomery_filter *filter =
        tool_filter_open_file(&file, options, secret_file, chosen, NULL);
    tool_filter_file_close(&file);
    return filter;
}

/* ---- The filter that a command writes -------------------------------------------------------- */

bool tool_output_is_stdout(const struct tool_output *output)
{
    return strcmp(output->path, "-") == 0;
}

const char *tool_output_said(const struct tool_output *output)
{
    return tool_output_is_stdout(output) ? "stdout" : output->path;
}

/* Whether stands there what the new filter may replace: nothing, a filter of the same system, or
 * anything with `force`. Of a file that is locked what is locked counts, which may have taken a
 * while. */
static bool may_replace(const struct tool_output *output)
{
    const bool held = output->lock >= 0, any = output->force || output->dialect != NULL;
    const char *const path = output->path;
    struct tool_filter_file file;
    struct stat facts;
    if (!(held ? tool_may_replace_held(path, output->lock, any) : tool_may_replace(path, any)))
        return false;
    if (output->dialect == NULL || output->force ||
        (held ? fstat(output->lock, &facts) : stat(path, &facts)) != 0 || facts.st_size == 0)
        return true;
    if (!(held ? tool_filter_file_held(&file, path, output->lock, NULL)
               : tool_filter_file_open(&file, path, NULL)))
        return false;
    const struct tool_origin *origin = &file.origin;
    const bool magic = output->dialect->magic;
    const bool may = !origin->packed && magic && origin->dialect == output->dialect;
    if (!may)
        tool_error("%s: exists%s; --force overwrites it", path,
                   origin->ours ? " and is a Bloomery filter"
                   : magic      ? ", and not as such a filter"
                                : ", and nothing shows that it is such a filter");
    tool_filter_file_close(&file);
    return may;
}

void tool_output_warn_of_name(const char *path)
{
    static const char *const endings[] = {".gz", ".zst", ".xz",   ".bz2", ".lz4",
                                          ".lz", ".Z",   ".lzma", ".zip"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            tool_warning("%s: is written uncompressed, whatever its name says", path);
    }
}

bool tool_output_begin(struct tool_output *output)
{
    output->lock = -1;
    if (output->path == NULL) {
        tool_usage("no output: give -o FILE");
        return false;
    }
    if (tool_output_is_stdout(output)) {
        if (output->json)
            tool_usage("--json and '-o -' both want standard output; name a file for the filter");
        return !output->json && tool_stdout_takes_bytes();
    }
    if (!may_replace(output))
        return false;
    tool_output_warn_of_name(output->path);
    if (access(output->path, R_OK) != 0)
        return true;
    output->lock = tool_filter_lock(output->path);
    return output->lock >= 0 && may_replace(output);
}

void tool_output_end(struct tool_output *output)
{
    tool_filter_unlock(output->lock);
    output->lock = -1;
}

bool tool_output_write(const struct tool_output *output, const bloomery_filter *filter,
                       uint64_t *bytes)
{
    bloomery_error error;
    if (output->dialect != NULL)
        return tool_foreign_write(filter, output->dialect, output->path, bytes);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (bytes != NULL)
        *bytes = info.file_bytes;
    if (tool_output_is_stdout(output))
        return tool_filter_to_stdout(filter);
    if (bloomery_save(filter, output->path, &error) == BLOOMERY_OK)
        return true;
    tool_library_error(output->path, &error);
    return false;
}

bool tool_output_look(const struct tool_output *output, const bloomery_filter *filter,
                      struct tool_facts *facts)
{
    const bloomery_filter *opened = NULL;
    if (filter == NULL) {
        filter = opened = tool_filter_inspect(output->path);
        if (opened == NULL)
            return false;
    }
    tool_facts_read(filter, facts);
    facts->info.note = NULL; /* it ends with the filter */
    bloomery_free(opened);
    return true;
}

void tool_output_report(struct tool_report *report, const struct tool_output *output,
                        const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    tool_fact(report, "file", NULL, tool_text(output->path));
    tool_fact(report, "kind", NULL, tool_text(bloomery_kind_name((int)info->kind)));
    tool_fact(report, "layers", NULL, tool_count(info->layers));
    tool_fact(report, "adds", NULL, tool_count(info->adds));
    tool_report_filter(report, facts);
}
