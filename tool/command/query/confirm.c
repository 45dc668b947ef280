/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binary search in a file of lines of any length. The search halves a range of bytes that begins
 * and ends at the border of lines, and compares the line around its middle.
 *
 *     low                      middle               high
 *      |                         |                   |
 *      aardvark\n bee\n caterpillar\n dragonfly\n eel\n ...
 *                       [  the line  ]
 *
 * A step costs the length of a line, and so a search of a file of a billion lines looks at thirty
 * of them.
 *
 * In a file that is not sorted a search goes astray and finds nothing, silently. Two things stand
 * against that, and neither reads the file. When it is opened, neighbours are compared at many
 * places. And each search knows the nearest lines it has seen below and above its key, between
 * which all further lines must lie.
 *
 * Lists of keys seldom are the bare keys. Their lines are HASH:COUNT, end in carriage returns, or
 * have the other case. The lines that are looked at first show which, and how to search:
 *
 *   raw      The key begins the line. Wanted is the key with what stands behind it, as in "abc:".
 *            That is right in the file's own order, also if keys have different lengths: "ab0:1"
 *            comes before "ab:1", and the key "ab" before the key "ab0".
 *   derived  The key is another field, or the rule has to change the line: blanks to trim, letters
 *            of both cases. Lines are compared by their keys, and must be in the order of these.
 */
#include "command/query/query.h"

#include "base/system.h"
#include "input/unpack.h"
#include "tool.h"

#include <bloomery/records.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TAILS = 6, LINE_ENDS = -1 };

/* What follows a key in lines of the file, and whether that key stands in quotes. */
struct tail {
    bool quoted;
    int byte; /* a carriage return, the delimiter of fields, or LINE_ENDS */
    size_t seen;
};

/* How lines of the file and keys by one rule are compared. */
struct way {
    bloomery_key_rule rule; /* makes the key of a line */
    bool derived;
    bool either_case; /* a key is also looked for in lower and in upper case */
    bool blanks;      /* derived: there are some around keys */
    size_t tail_count;
    struct tail tails[TAILS]; /* raw: the most frequent first */
};

struct tool_confirm {
    const char *path;
    const unsigned char *data; /* NULL: the file is empty */
    size_t bytes;
    unsigned char delimiter;
    struct way *ways;       /* by each rule */
    atomic_size_t unsorted; /* the number of a way, from 1 on, by which lines are out of order */
};

struct line {
    const unsigned char *at; /* NULL: none yet */
    size_t bytes;
};

/* The order of LC_ALL=C sort. */
static int compare(struct line one, struct line other)
{
    size_t common = one.bytes < other.bytes ? one.bytes : other.bytes;
    int order = common > 0 ? memcmp(one.at, other.at, common) : 0;
    if (order != 0)
        return order;
    return one.bytes < other.bytes ? -1 : one.bytes > other.bytes;
}

/* The line that begins at `start`. */
static struct line line_at(const struct tool_confirm *confirm, size_t start)
{
    assert(start < confirm->bytes);
    const unsigned char *at = confirm->data + start;
    const unsigned char *stop = memchr(at, confirm->delimiter, confirm->bytes - start);
    return (struct line){at, stop != NULL ? (size_t)(stop - at) : confirm->bytes - start};
}

/* The beginning of the line behind this one; the file's end behind its last. */
static size_t behind(const struct tool_confirm *confirm, struct line line)
{
    size_t end = (size_t)(line.at - confirm->data) + line.bytes;
    return end < confirm->bytes ? end + 1 : end;
}

/* ---- Lines as they are compared -------------------------------------------------------------- */

/* Memory for a key. */
struct room {
    unsigned char *bytes;
    size_t capacity;
};

static void need(struct room *room, size_t bytes)
{
    if (room->bytes != NULL && bytes <= room->capacity)
        return;
    room->capacity = 2 * bytes;
    room->bytes = tool_reallocate(room->bytes, room->capacity);
}

static struct line without_return(struct line line)
{
    line.bytes -= line.bytes > 0 && line.at[line.bytes - 1] == '\r';
    return line;
}

/* The key of a line by this way's rule. A line without one is empty, as it is for sort -k. */
static struct line key_of(const struct way *way, struct line line, struct room *room)
{
    bloomery_key key;
    line = without_return(line);
    need(room, BLOOMERY_RULE_ROOM(line.bytes));
    const int result = (int)bloomery_rule_apply(&way->rule, line.at, line.bytes, room->bytes,
                                                room->capacity, &key, NULL);
    if ((result & ~BLOOMERY_RECORD_OPEN_QUOTE) != BLOOMERY_RECORD_KEY)
        return (struct line){line.at, 0};
    return (struct line){key.data, key.bytes};
}

static struct line view(const struct way *way, struct line line, struct room *room)
{
    return way->derived ? key_of(way, line, room) : line;
}

/* A search by one way: what is wanted, and room for it and for three lines. */
struct search {
    struct tool_confirm *confirm;
    size_t number; /* of the way */
    struct line wanted;
    bool prefix; /* a line that begins so is found */
    struct room text, letters, rooms[3];
};

static bool find(struct search *search)
{
    struct tool_confirm *confirm = search->confirm;
    const struct way *way = &confirm->ways[search->number];
    struct line below = {NULL, 0}, above = {NULL, 0};
    size_t low = 0, high = confirm->bytes, free_room = 0, below_room = 1, above_room = 2;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const unsigned char *before =
            middle > low ? memrchr(confirm->data + low, confirm->delimiter, middle - low) : NULL;
        size_t start = before != NULL ? (size_t)(before - confirm->data) + 1 : low;
        const struct line whole = line_at(confirm, start);
        const struct line line = view(way, whole, &search->rooms[free_room]);
        if ((below.at != NULL && compare(line, below) < 0) ||
            (above.at != NULL && compare(line, above) > 0)) {
            atomic_store(&confirm->unsorted, search->number + 1);
            return false;
        }
        struct line begun = line; /* as much of it as is compared */
        if (search->prefix && begun.bytes > search->wanted.bytes)
            begun.bytes = search->wanted.bytes;
        const int order = compare(search->wanted, begun);
        if (order == 0)
            return true;
        size_t *const replaced = order < 0 ? &above_room : &below_room;
        const size_t used = free_room;
        free_room = *replaced;
        *replaced = used;
        if (order < 0) {
            high = start;
            above = line;
        } else {
            low = behind(confirm, whole);
            below = line;
        }
    }
    return false;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

/* The key with what stands around it in a line. */
static void set_wanted(struct search *search, bloomery_key key, const struct tail *tail)
{
    const unsigned char *from = key.data;
    size_t used = 0;
    need(&search->text, 2 * key.bytes + 3);
    unsigned char *const to = search->text.bytes;
    if (tail->quoted)
        to[used++] = '"';
    for (size_t i = 0; i < key.bytes; i++) {
        if (tail->quoted && from[i] == '"')
            to[used++] = '"';
        to[used++] = from[i];
    }
    if (tail->quoted)
        to[used++] = '"';
    if (tail->byte != LINE_ENDS)
        to[used++] = (unsigned char)tail->byte;
    search->wanted = (struct line){to, used};
    search->prefix = tail->byte != LINE_ENDS && tail->byte != '\r';
}

/* Whether a line with this key can have this tail. A key with the delimiter in it stands in quotes;
 * without them, a line that begins so has another key. */
static bool is_usable(const struct tail *tail, const struct way *way, bloomery_key key)
{
    const bool delimited = tail->byte != LINE_ENDS && tail->byte != '\r';
    return tail->quoted || !delimited || key.bytes == 0 ||
           (memchr(key.data, (int)way->rule.delimiter, key.bytes) == NULL &&
            ((way->rule.flags & BLOOMERY_RULE_CSV) == 0 || *(const char *)key.data != '"'));
}

/* Looks for the key in all forms that lines of the file have. */
static bool find_key(struct search *search, bloomery_key key)
{
    const struct way *way = &search->confirm->ways[search->number];
    if (way->derived) {
        search->wanted = without_return((struct line){key.data, key.bytes});
        search->prefix = false;
        return search->wanted.bytes > 0 && find(search);
    }
    for (size_t t = 0; t < way->tail_count; t++) {
        if (!is_usable(&way->tails[t], way, key))
            continue;
        set_wanted(search, key, &way->tails[t]);
        if (find(search))
            return true;
    }
    return false;
}

/* The key with its letters in one case. False if it is so already. */
static bool change_case(struct search *search, bloomery_key key, bool upper, bloomery_key *changed)
{
    const bloomery_key_rule rule = {.flags = upper ? BLOOMERY_RULE_UPPER : BLOOMERY_RULE_LOWER};
    need(&search->letters, BLOOMERY_RULE_ROOM(key.bytes));
    bloomery_rule_apply(&rule, key.data, key.bytes, search->letters.bytes, search->letters.capacity,
                        changed, NULL);
    return key.bytes > 0 && memcmp(key.data, changed->data, key.bytes) != 0;
}

bool tool_confirm_has(struct tool_confirm *confirm, size_t rule, bloomery_key key)
{
    const struct way *way = &confirm->ways[rule];
    struct search search = {.confirm = confirm, .number = rule};
    bloomery_key changed;
    bool found = find_key(&search, key);
    for (int upper = 0; upper < 2 && way->either_case && !found; upper++)
        found = change_case(&search, key, upper != 0, &changed) && find_key(&search, changed);
    for (size_t i = 0; i < 3; i++)
        free(search.rooms[i].bytes);
    free(search.letters.bytes);
    free(search.text.bytes);
    return found;
}

bool tool_confirm_is_sorted(const struct tool_confirm *confirm)
{
    return atomic_load(&confirm->unsorted) == 0;
}

/* The sentence for a file whose keys are not in the order that a search needs. */
static void say_unsorted_keys(const struct tool_confirm *confirm, const struct way *way)
{
    const bloomery_key_rule *rule = &way->rule;
    const bool cased = (rule->flags & (BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER)) != 0;
    const char *const zero = confirm->delimiter == '\0' ? " -z" : "";
    if (rule->field > 0 && !cased && !way->blanks && rule->delimiter > ' ' &&
        rule->delimiter < 0x7f)
        tool_error(
            "%s: is not sorted by the bytes of field %d, the key; 'LC_ALL=C sort%s -t \"%c\" "
            "-k %d,%d' does that",
            confirm->path, (int)rule->field, zero, (char)rule->delimiter, (int)rule->field,
            (int)rule->field);
    else
        tool_error(
            "%s: the keys in its lines are not in the order of their bytes. Write them alone%s"
            "%s, then sort them by 'LC_ALL=C sort%s'",
            confirm->path, cased ? ", in one case" : "",
            way->blanks ? ", without blanks around them" : "", zero);
}

void tool_confirm_say_unsorted(const struct tool_confirm *confirm)
{
    const size_t unsorted = atomic_load(&confirm->unsorted);
    assert(unsorted > 0);
    if (confirm->ways[unsorted - 1].derived)
        say_unsorted_keys(confirm, &confirm->ways[unsorted - 1]);
    else
        tool_error("%s: is not sorted by the bytes of its lines; 'LC_ALL=C sort%s' does that",
                   confirm->path, confirm->delimiter == '\0' ? " -z" : "");
}

/* ---- The ways -------------------------------------------------------------------------------- */

enum { PLACES = 64, NEIGHBOURS = 64 };

/* Calls `look` for some lines at some places of the file, its beginning first. `goes_on`: the line
 * is the one behind the line of the call before. Stops when that returns false, and returns so. */
static bool look_at_lines(const struct tool_confirm *confirm,
                          bool (*look)(void *context, struct line line, bool goes_on),
                          void *context)
{
    for (size_t place = 0; place < PLACES; place++) {
        size_t at = confirm->bytes / PLACES * place;
        if (place > 0 && at == 0)
            break;
        if (place > 0)
            at = behind(confirm, line_at(confirm, at));
        for (size_t i = 0; i <= NEIGHBOURS && at < confirm->bytes; i++) {
            const struct line line = line_at(confirm, at);
            if (!look(context, line, i > 0))
                return false;
            at = behind(confirm, line);
        }
    }
    return true;
}

/* What the lines look like by a rule. */
struct looks {
    const struct way *way;
    size_t lines, fields; /* with more than one field */
    size_t trimmed;       /* with blanks around the key */
    size_t both_cases;    /* with small and capital letters in the key */
    struct tail tails[TAILS];
    size_t tail_count;
    struct room room;
};

static void count_tail(struct looks *looks, bool quoted, int byte)
{
    size_t t = 0;
    while (t < looks->tail_count &&
           (looks->tails[t].quoted != quoted || looks->tails[t].byte != byte))
        t++;
    assert(t < TAILS);
    if (t == looks->tail_count)
        looks->tails[looks->tail_count++] = (struct tail){quoted, byte, 0};
    looks->tails[t].seen++;
}

/* Whether small and capital letters are among the bytes. */
static bool has_both_cases(struct line key)
{
    bool small = false, capital = false;
    for (size_t i = 0; i < key.bytes; i++) {
        small |= key.at[i] >= 'a' && key.at[i] <= 'z';
        capital |= key.at[i] >= 'A' && key.at[i] <= 'Z';
    }
    return small && capital;
}

static bool look(void *context, struct line line, bool goes_on)
{
    (void)goes_on;
    struct looks *looks = context;
    const bloomery_key_rule *rule = &looks->way->rule;
    const struct line text = without_return(line);
    const bool csv = (rule->flags & BLOOMERY_RULE_CSV) != 0;
    const bool quoted = csv && text.bytes > 0 && text.at[0] == '"';
    const struct line key = key_of(looks->way, line, &looks->room);
    const unsigned char *delimiter = NULL;
    if (rule->field != 0 && text.bytes > 0)
        delimiter = memchr(text.at, (int)rule->delimiter, text.bytes);
    looks->lines++;
    looks->fields += delimiter != NULL && (rule->field <= 1 || key.bytes > 0);
    looks->trimmed +=
        key.bytes > 0 && (key.at[0] == ' ' || key.at[0] == '\t' || key.at[key.bytes - 1] == ' ' ||
                          key.at[key.bytes - 1] == '\t');
    looks->both_cases += has_both_cases(key);
    if (rule->field > 1 || rule->field < 0)
        delimiter = NULL;
    /* Delimiters in quotes belong to the field: then one more may or may not follow. */
    if (quoted && delimiter != NULL) {
        const unsigned char *const end = text.at + text.bytes;
        const unsigned char *quote = text.at;
        do
            quote = memchr(quote + 1, '"', (size_t)(end - quote - 1));
        while (quote != NULL && end - quote > 1 && quote[1] == '"' && ++quote < end - 1);
        delimiter = quote != NULL && end - quote > 1 ? quote + 1 : NULL;
    }
    count_tail(looks, quoted,
               delimiter != NULL          ? (int)rule->delimiter
               : text.bytes != line.bytes ? '\r'
                                          : LINE_ENDS);
    return true;
}

/* Whether neighbours are in order. */
struct order {
    const struct way *way;
    struct line last;
    struct room rooms[2];
};

static bool is_in_order(void *context, struct line line, bool goes_on)
{
    struct order *order = context;
    const struct line here = view(order->way, line, &order->rooms[0]);
    const bool good = !goes_on || compare(order->last, here) <= 0;
    const struct room room = order->rooms[0];
    order->rooms[0] = order->rooms[1];
    order->rooms[1] = room;
    order->last = here;
    return good;
}

static int more_frequent(const void *one, const void *other)
{
    const size_t a = ((const struct tail *)one)->seen, b = ((const struct tail *)other)->seen;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* Chooses how lines and keys by `rule` are compared. */
static void find_way(const struct tool_confirm *confirm, const bloomery_key_rule *rule,
                     struct way *way)
{
    const uint32_t letters = BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX;
    const uint32_t trim = rule->flags & BLOOMERY_RULE_TRIM;
    const uint32_t csv = rule->flags & BLOOMERY_RULE_CSV;
    *way = (struct way){.rule = {csv, rule->delimiter, rule->field, rule->comment},
                        .either_case = (rule->flags & letters) != 0};
    struct looks looks = {.way = way};
    look_at_lines(confirm, look, &looks);
    /* A list of the keys alone has no other fields. */
    if (rule->field != 1 && 2 * looks.fields <= looks.lines) {
        way->rule = (bloomery_key_rule){0};
        looks.lines = looks.tail_count = looks.trimmed = looks.both_cases = 0;
        look_at_lines(confirm, look, &looks);
    }
    free(looks.room.bytes);
    way->derived = (way->rule.field != 0 && way->rule.field != 1) ||
                   (trim != 0 && looks.trimmed > 0) || (way->either_case && looks.both_cases > 0);
    if (way->derived) {
        way->blanks = trim != 0 && looks.trimmed > 0;
        way->rule.flags |= trim;
        if (way->either_case && looks.both_cases > 0)
            way->rule.flags |= (rule->flags & BLOOMERY_RULE_UPPER) != 0 ? BLOOMERY_RULE_UPPER
                                                                        : BLOOMERY_RULE_LOWER;
        return;
    }
    qsort(looks.tails, looks.tail_count, sizeof(*looks.tails), more_frequent);
    bool bare = false;
    for (size_t t = 0; t < looks.tail_count; t++) {
        way->tails[way->tail_count++] = looks.tails[t];
        bare |= !looks.tails[t].quoted && looks.tails[t].byte == LINE_ENDS;
    }
    if (!bare && way->tail_count < TAILS)
        way->tails[way->tail_count++] = (struct tail){.byte = LINE_ENDS};
}

static bool find_ways(struct tool_confirm *confirm, const bloomery_key_rule *rules, size_t count)
{
    confirm->ways = tool_allocate(count * sizeof(*confirm->ways));
    for (size_t r = 0; r < count; r++) {
        find_way(confirm, &rules[r], &confirm->ways[r]);
        struct order order = {.way = &confirm->ways[r]};
        const bool sorted = look_at_lines(confirm, is_in_order, &order);
        free(order.rooms[0].bytes);
        free(order.rooms[1].bytes);
        if (!sorted) {
            atomic_store(&confirm->unsorted, r + 1);
            tool_confirm_say_unsorted(confirm);
            return false;
        }
    }
    return true;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static bool map_file(struct tool_confirm *confirm, int file)
{
    struct stat facts;
    if (fstat(file, &facts) != 0) {
        tool_error("%s: %s", confirm->path, strerror(errno));
        return false;
    }
    if (!S_ISREG(facts.st_mode)) {
        tool_error("%s: is not a regular file; a search needs one", confirm->path);
        return false;
    }
    confirm->bytes = (size_t)facts.st_size;
    if (confirm->bytes == 0)
        return true;
    void *data = mmap(NULL, confirm->bytes, PROT_READ, MAP_SHARED, file, 0);
    if (data == MAP_FAILED) {
        tool_error("%s: %s", confirm->path, strerror(errno));
        return false;
    }
    madvise(data, confirm->bytes, MADV_RANDOM);
    confirm->data = data;
    tool_watched_add(confirm->path, &facts, data, confirm->bytes);
    return true;
}

static bool is_text(const struct tool_confirm *confirm)
{
    bool undecided;
    if (confirm->data == NULL ||
        tool_packing_of(confirm->data, confirm->bytes, &undecided) == TOOL_PLAIN)
        return true;
    tool_error("%s: is compressed, or a filter; a search needs the lines themselves",
               confirm->path);
    return false;
}

struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter,
                                       const bloomery_key_rule *rules, size_t count)
{
    struct tool_confirm *confirm = tool_allocate(sizeof(*confirm));
    *confirm = (struct tool_confirm){.path = path, .delimiter = delimiter};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        tool_error("%s: %s", path, strerror(errno));
    const bool mapped = file >= 0 && map_file(confirm, file);
    if (file >= 0)
        close(file);
    if (mapped && is_text(confirm) && find_ways(confirm, rules, count)) {
        if (confirm->bytes >= 3 && memcmp(confirm->data, "\xef\xbb\xbf", 3) == 0)
            tool_warning("%s: begins with a UTF-8 byte order mark, which no key has", path);
        return confirm;
    }
    tool_confirm_close(confirm);
    return NULL;
}

void tool_confirm_close(struct tool_confirm *confirm)
{
    if (confirm != NULL && confirm->data != NULL) {
        /* munmap takes a pointer to writable memory, and writes nothing. */
        union {
            const unsigned char *data;
            void *memory;
        } map = {.data = confirm->data};
        munmap(map.memory, confirm->bytes);
    }
    if (confirm != NULL)
        free(confirm->ways);
    free(confirm);
}
