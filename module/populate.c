/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that takes the pages of large filters ahead of those who add, and makes huge ones of
 * them.
 *
 * A page that nobody touched costs the kernel's zeroing at the first touch, in the middle of a
 * command; a new filter of a GiB would be slow for its first hundred thousand items. And with pages
 * of 4 KiB each probe of a large filter misses the processor's table of pages as well as its cache,
 * which doubles the time of a command. The server's allocator asks for no larger ones.
 *
 *     a piece, a layer of a filter   |############|======............|
 *                                    0            joined   taken     bytes
 *
 * First the pages of all pieces are taken. A block of 16 MiB is made huge at once if most of its
 * pages are missing (MADV_COLLAPSE, Linux 6.1): the kernel clears 2 MiB in a quarter of the time
 * that its 512 small pages take. A thread that touches that memory in this time waits until 2 MiB
 * are done: a third of a millisecond, or several where a virtual machine must get the memory from
 * its host. So the thread rests after a block for an eighth of the time that it took, and a command
 * of many new items comes to its end. Where a block can't be huge, and after a slow one, small
 * pages are taken, in short steps that keep nobody from touching others.
 *
 * Then small pages are joined to huge ones, 2 MiB at a time. The kernel copies them, and the main
 * thread, whose items are everywhere, soon waits for that. Nothing is missing any more, so there is
 * time: after each the thread rests for four times as long. No mark is left on the memory: what the
 * allocator makes of it later has small pages again.
 *
 * While a child of the server writes a file, memory is shared with it. A joined page would be
 * another 2 MiB for each that the child still has, so the thread begins none then. The first write
 * to a shared huge page splits it: the kernel copies 4 KiB of it, as always. So when the child has
 * ended, all pages are joined again.
 *
 * Where a sixteenth of the machine's memory is left, or a quarter of its container's, no further
 * page is taken: a filter may be larger than that, and never get so full.
 *
 * Values that a command has replaced are released here too, so that the command does not wait:
 * first their pages are given back in steps, then their addresses.
 *
 * A value that is released takes its pieces with it. If the thread is at one of them, it releases
 * the value itself when its step is done: so a key may be unlinked during a step.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Since Linux 5.14 and 6.1; the headers may be older. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    PIECES = 16,    /* there is room for at first */
    REPLACED = 256, /* values at most that wait to be released; others are released at once */
    DROP_BYTES = 4 * 1024 * 1024,
    STEP_BYTES = 256 * 1024,
    SMALL_BYTES = 4096,
    HUGE_BYTES = 2 * 1024 * 1024,
    BLOCK_BYTES = 16 * 1024 * 1024, /* of one call; in each the kernel waits for all processors */
    SLOW_NS = 1000000, /* times one more than a block has 2 MiB: its small pages take as long */
};

/* In /proc/self/pagemap: in memory, or in swap. */
#define PAGE_IS_THERE (UINT64_C(3) << 62)

struct piece {
    struct bf_value *value;
    uint8_t *memory;
    uint64_t bytes;  /* all of it; where memory ran out, up to there */
    uint64_t taken;  /* its pages are there up to here */
    uint64_t joined; /* and are huge up to here, as far as that can be */
    uint64_t huge;   /* bytes of it in huge pages, when they were joined last */
    uint64_t small;  /* up to here no huge page is tried before small ones are taken */
    uint64_t slow;   /* bytes for which none is tried after a slow block */
    uint64_t block;  /* bytes of the next one at most */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t comes = PTHREAD_COND_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER; /* a step */
static struct piece *pieces;                              /* in no order */
static size_t piece_count, piece_room;
static struct bf_value *current;
static const struct bf_value *held; /* by the main thread: its pieces are left alone */
static bool is_given_up;            /* the current one is the thread's to release */
static struct bf_value *replaced[REPLACED];
static size_t replaced_count;
static bool is_shared;  /* with a child */
static bool is_running; /* the thread is there; of the main thread alone */
static void (*release)(void *value);

static bool is_to_take(const struct piece *piece)
{
    return piece->taken < piece->bytes;
}

static bool is_to_join(const struct piece *piece)
{
    return piece->joined < piece->bytes;
}

static bool is_to_do(const struct piece *piece)
{
    return is_to_take(piece) || is_to_join(piece);
}

size_t bf_whole_pages(const void *memory, size_t bytes, size_t *before)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *before = (page - (uintptr_t)memory % page) % page;
    assert(bytes >= BF_LAZY_BYTES && *before < bytes);
    return (bytes - *before) / page * page;
}

void bf_drop_pages(void *memory, size_t bytes)
{
    size_t before;
    if (bytes < BF_LAZY_BYTES)
        return;
    const size_t pages = bf_whole_pages(memory, bytes, &before);
    /* A wish: no matter if it is not granted. */
    (void)madvise((uint8_t *)memory + before, pages, MADV_DONTNEED);
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* The piece to go on with; NULL: there is nothing to do for now. Pages that are missing are wanted
 * more than pages that are small. */
static struct piece *find_work(void)
{
    struct piece *work = NULL;
    for (size_t i = 0; i < piece_count; i++) {
        if (pieces[i].value == held)
            continue;
        if (is_to_take(&pieces[i]))
            return &pieces[i];
        if (work == NULL && !is_shared && is_to_join(&pieces[i]))
            work = &pieces[i];
    }
    return work;
}

/* Writes to each page without changing a bit, even while other threads change some. */
__attribute__((no_sanitize("thread"))) static void touch(uint8_t *memory, size_t bytes)
{
    const volatile uint8_t nothing = 0; /* a compiler that knows the value makes a load of it */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes; at += page - (uintptr_t)(memory + at) % page)
        (void)__atomic_fetch_or(memory + at, nothing, __ATOMIC_RELAXED);
}

/* Whether less than a sixteenth of the machine's memory is left, or a quarter of the container's.
 * The server's other keys, clients and children need that, and without it the kernel ends the
 * server. */
static bool is_scarce(void)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    return limits.machine_left < limits.machine / 16 ||
           limits.container_left < limits.container / 4;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Makes one page of each 2 MiB, also where small ones are missing. Kernels before 6.18 want one
 * that was written to since the last child. False: memory is short, or a page is in use (EAGAIN);
 * some of the 2 MiB may be huge pages then. */
static bool make_huge(uint8_t *memory, size_t bytes)
{
    assert((uintptr_t)memory % HUGE_BYTES == 0 && bytes % HUGE_BYTES == 0);
    for (size_t at = 0; at < bytes; at += HUGE_BYTES)
        if (madvise(memory + at, SMALL_BYTES, MADV_POPULATE_WRITE) != 0)
            return false;
    return madvise(memory, bytes, MADV_COLLAPSE) == 0;
}

/* Whether most of the small pages are missing. mincore() would say the same, but the system call
 * filter of Debian's services ends a server that calls it. */
static bool is_mostly_missing(const uint8_t *memory, size_t bytes)
{
    uint64_t pages[BLOCK_BYTES / SMALL_BYTES];
    const size_t wanted = bytes / SMALL_BYTES;
    size_t count = 0;
    assert(bytes <= BLOCK_BYTES);
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    const off_t at = (off_t)((uintptr_t)memory / SMALL_BYTES * sizeof *pages);
    const ssize_t came = pread(file, pages, wanted * sizeof *pages, at);
    (void)close(file);
    if (came != (ssize_t)(wanted * sizeof *pages))
        return false;
    for (size_t i = 0; i < wanted; i++)
        count += (pages[i] & PAGE_IS_THERE) != 0;
    return count < wanted / 2;
}

static bool take_small(struct piece *piece)
{
    const uint64_t left = piece->bytes - piece->taken;
    uint8_t *memory = piece->memory + piece->taken;
    size_t bytes = STEP_BYTES - (uintptr_t)memory % STEP_BYTES;
    bytes = left < bytes ? (size_t)left : bytes;
    const size_t before = (uintptr_t)memory % (size_t)sysconf(_SC_PAGESIZE);
    if (madvise(memory - before, before + bytes, MADV_POPULATE_WRITE) != 0) {
        if (errno == ENOMEM || errno == EAGAIN || errno == EHWPOISON)
            return false;
        touch(memory, bytes);
    }
    piece->taken += bytes;
    assert(piece->taken <= piece->bytes);
    return true;
}

/* Decides from where on a huge page is tried next, and for how many bytes. */
static void plan_block(struct piece *piece, uint64_t bytes, bool is_slow)
{
    if (is_slow) {
        piece->slow = piece->slow > 0 ? 2 * piece->slow : BLOCK_BYTES;
        piece->small = piece->taken + bytes + piece->slow;
        piece->block = HUGE_BYTES;
        return;
    }
    if (bytes > HUGE_BYTES)
        piece->slow = 0;
    piece->block = BLOCK_BYTES;
}

/* The second try is for pages that the main thread had only just got. Where the kernel must make
 * room first, or get memory from its host, huge pages take longer than small ones. So the first try
 * is for 2 MiB alone. After a slow try the next blocks are left for later, when nobody waits, twice
 * as many each time; then 2 MiB are tried again. */
static bool take_huge(struct piece *piece)
{
    uint8_t *memory = piece->memory + piece->taken;
    const uint64_t left = piece->bytes - piece->taken;
    size_t bytes = BLOCK_BYTES - (uintptr_t)memory % BLOCK_BYTES;
    bytes = piece->block < bytes ? (size_t)piece->block : bytes;
    bytes = left < bytes ? (size_t)left / HUGE_BYTES * HUGE_BYTES : bytes;
    if (!is_to_join(piece) || piece->taken < piece->small || (uintptr_t)memory % HUGE_BYTES != 0 ||
        bytes == 0 || !is_mostly_missing(memory, bytes))
        return false;
    const uint64_t slow_ns = SLOW_NS + bytes / HUGE_BYTES * SLOW_NS;
    const uint64_t begin_ns = now_ns();
    const bool is_huge = make_huge(memory, bytes) || (errno == EAGAIN && make_huge(memory, bytes));
    const bool is_in_use = !is_huge && errno == EAGAIN;
    plan_block(piece, bytes, now_ns() - begin_ns > slow_ns || (!is_huge && !is_in_use));
    if (is_in_use)
        piece->small = piece->taken + bytes + piece->slow;
    if (!is_huge)
        return false;
    if (piece->joined == piece->taken) {
        piece->joined += bytes;
        piece->huge += bytes;
    }
    piece->taken += bytes;
    return true;
}

/* Takes the next pages. If memory is exhausted, adds take the rest. */
static void take(struct piece *piece, bool may_be_huge)
{
    const uint64_t before = piece->taken;
    const bool is_to_look = before == 0 || (uintptr_t)(piece->memory + before) % BLOCK_BYTES == 0;
    bool is_taken = !(is_to_look && is_scarce());
    is_taken = is_taken && ((may_be_huge && take_huge(piece)) || take_small(piece));
    if (!is_taken)
        piece->bytes = piece->taken;
    atomic_fetch_add(&bf_counts.populated_bytes, piece->taken - before);
}

/* Joins the next pages. If they can't be joined the next ones may be. */
static void join(struct piece *piece)
{
    assert(is_to_join(piece));
    if (piece->bytes - piece->joined < HUGE_BYTES) {
        piece->joined = piece->bytes;
        return;
    }
    if (make_huge(piece->memory + piece->joined, HUGE_BYTES))
        piece->huge += HUGE_BYTES;
    piece->joined += HUGE_BYTES;
}

static void rest(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    (void)nanosleep(&time, NULL);
}

/* Waits for work. The result is what the piece was then: it may go, or be elsewhere in the list.
 * Its pages may be huge if no child has them. `unwanted`: a value to release instead. */
static struct piece begin_step(bool *may_be_huge, struct bf_value **unwanted)
{
    const struct piece *work = NULL;
    *unwanted = NULL;
    (void)pthread_mutex_lock(&lock);
    while (replaced_count == 0 && (work = find_work()) == NULL)
        (void)pthread_cond_wait(&comes, &lock);
    if (replaced_count > 0) {
        *unwanted = replaced[--replaced_count];
        (void)pthread_mutex_unlock(&lock);
        return (struct piece){.value = NULL};
    }
    current = work->value;
    *may_be_huge = !is_shared;
    const struct piece piece = *work;
    (void)pthread_mutex_unlock(&lock);
    return piece;
}

static struct piece *find_piece(const struct bf_value *value, const void *memory)
{
    for (size_t i = 0; i < piece_count; i++)
        if (pieces[i].value == value && pieces[i].memory == memory)
            return &pieces[i];
    return NULL;
}

/* Notes how far a piece is, and whether it is one that waits. */
static void note(struct piece *piece, uint64_t bytes, uint64_t taken, uint64_t joined)
{
    const bool was_to_do = is_to_do(piece);
    assert(taken <= bytes);
    piece->bytes = bytes;
    piece->taken = taken;
    piece->joined = joined;
    if (was_to_do && !is_to_do(piece))
        atomic_fetch_sub(&bf_counts.populating, 1);
    else if (!was_to_do && is_to_do(piece))
        atomic_fetch_add(&bf_counts.populating, 1);
}

/* Notes how far a step came. True: the value is to be released. */
static bool end_step(const struct piece *before, const struct piece *after)
{
    (void)pthread_mutex_lock(&lock);
    const bool given_up = is_given_up;
    struct piece *piece = find_piece(before->value, before->memory);
    assert(current == before->value && (piece == NULL) == given_up);
    if (piece != NULL) {
        const bool goes_on = piece->joined == before->joined; /* else a child ended */
        note(piece, after->bytes, after->taken, goes_on ? after->joined : piece->joined);
        if (goes_on) {
            piece->huge = after->huge;
            piece->small = after->small;
            piece->slow = after->slow;
            piece->block = after->block;
            atomic_fetch_add(&bf_counts.huge_page_bytes, after->huge - before->huge);
        }
    }
    current = NULL;
    is_given_up = false;
    (void)pthread_cond_broadcast(&is_done);
    (void)pthread_mutex_unlock(&lock);
    return given_up;
}

/* Other threads that take memory wait for a step at most. */
static void release_in_steps(struct bf_value *value)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(value->filter, &info);
    for (uint32_t i = 0; i < info.layers; i++) {
        const void *memory;
        uint64_t bytes;
        (void)bloomery_layer_span(value->filter, i, &memory, &bytes);
        for (uint64_t at = 0; at < bytes; at += DROP_BYTES)
            bf_drop_pages((uint8_t *)(uintptr_t)memory + at,
                          (size_t)(bytes - at < DROP_BYTES ? bytes - at : DROP_BYTES));
    }
    release(value);
}

static void *populate(void *nothing)
{
    (void)nothing;
    for (;;) {
        bool may_be_huge;
        struct bf_value *unwanted;
        const struct piece before = begin_step(&may_be_huge, &unwanted);
        if (unwanted != NULL) {
            release_in_steps(unwanted);
            continue;
        }
        struct piece after = before;
        const uint64_t begin_ns = now_ns();
        if (is_to_take(&before))
            take(&after, may_be_huge);
        else
            join(&after);
        if (end_step(&before, &after))
            release(before.value);
        const uint64_t took_ns = now_ns() - begin_ns;
        if (after.taken - before.taken >= HUGE_BYTES)
            rest(took_ns / 8);
        else if (after.joined != before.joined)
            rest(took_ns * 4);
    }
    return NULL;
}

/* The server's signals are its main thread's. */
static bool start(void)
{
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    const bool made = pthread_create(&thread, NULL, populate, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        (void)pthread_detach(thread);
    return made;
}

/* ---- For the main thread --------------------------------------------------------------------- */

/* Whether pages may be huge, by the setting and by the system's file, which MADV_COLLAPSE does not
 * look at. Where small pages are larger than 4 KiB, huge ones are larger than 2 MiB. */
static bool may_join(void)
{
    static enum { UNKNOWN, YES, NO } said;
    char text[64] = "";
    if (bf_config.huge_pages == 0)
        return false;
    if (said == UNKNOWN) {
        FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
        said = file != NULL && fgets(text, sizeof text, file) != NULL &&
                       strstr(text, "[never]") == NULL && sysconf(_SC_PAGESIZE) == SMALL_BYTES
                   ? YES
                   : NO;
        if (file != NULL)
            (void)fclose(file);
    }
    return said == YES;
}

/* Where the first huge page of a piece can be. */
static uint64_t first_huge(const struct piece *piece)
{
    const uint64_t before = -(uintptr_t)piece->memory % HUGE_BYTES;
    return may_join() && before < piece->bytes ? before : piece->bytes;
}

static bool make_room(void)
{
    if (piece_count < piece_room)
        return true;
    const size_t room = piece_room > 0 ? 2 * piece_room : PIECES;
    struct piece *more = server.TryAlloc(room * sizeof *more);
    if (more == NULL)
        return false;
    if (pieces != NULL) {
        memcpy(more, pieces, piece_count * sizeof *more);
        server.Free(pieces);
    }
    pieces = more;
    piece_room = room;
    return true;
}

static void add_piece(struct bf_value *value, uint8_t *memory, uint64_t bytes)
{
    struct piece piece = {.value = value, .memory = memory, .bytes = bytes, .block = HUGE_BYTES};
    if (bytes < BF_POPULATED_BYTES || find_piece(value, memory) != NULL || !make_room())
        return;
    assert(piece_count < piece_room);
    piece.joined = first_huge(&piece);
    pieces[piece_count++] = piece;
    atomic_fetch_add(&bf_counts.populating, 1);
}

static bool has_layer_at(const struct bf_value *value, const void *memory)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(value->filter, &info);
    for (uint32_t i = 0; i < info.layers; i++) {
        const void *data;
        uint64_t bytes;
        if (bloomery_layer_span(value->filter, i, &data, &bytes) == BLOOMERY_OK && data == memory)
            return true;
    }
    return false;
}

void bf_populate(struct bf_value *value)
{
    bloomery_info info = BLOOMERY_INFO;
    if (bf_config.prefault == 0 || value->bytes < BF_POPULATED_BYTES)
        return;
    if (!is_running)
        is_running = start();
    if (!is_running)
        return;
    bloomery_info_get(value->filter, &info);
    (void)pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < info.layers; i++) {
        const void *memory;
        uint64_t bytes;
        if (bloomery_layer_span(value->filter, i, &memory, &bytes) == BLOOMERY_OK)
            add_piece(value, (uint8_t *)(uintptr_t)memory, bytes);
    }
    (void)pthread_cond_signal(&comes);
    (void)pthread_mutex_unlock(&lock);
}

static void remove_piece(size_t index)
{
    assert(index < piece_count);
    struct piece *piece = &pieces[index];
    note(piece, 0, 0, 0);
    atomic_fetch_sub(&bf_counts.huge_page_bytes, piece->huge);
    *piece = pieces[--piece_count];
}

bool bf_is_populated(const struct bf_value *value)
{
    if (value->bytes < BF_POPULATED_BYTES) /* and never was larger */
        return false;
    (void)pthread_mutex_lock(&lock);
    bool is_populated = current == value;
    for (size_t i = 0; i < piece_count && !is_populated; i++)
        is_populated = pieces[i].value == value && is_to_do(&pieces[i]);
    (void)pthread_mutex_unlock(&lock);
    return is_populated;
}

/* Its pieces go before the thread gets it: from then on nobody else knows the value. */
void bf_release_aside(struct bf_value *value)
{
    const bool is_large = value->bytes >= BF_POPULATED_BYTES;
    if (is_large && !is_running)
        is_running = start();
    if (!is_large || !is_running) {
        release(value);
        return;
    }
    if (bf_populate_end(value))
        return; /* the thread is at it, and has perhaps released it by now */
    (void)pthread_mutex_lock(&lock);
    const bool is_waiting = replaced_count < REPLACED;
    if (is_waiting)
        replaced[replaced_count++] = value;
    (void)pthread_cond_signal(&comes);
    (void)pthread_mutex_unlock(&lock);
    if (!is_waiting)
        release(value);
}

bool bf_populate_end(struct bf_value *value)
{
    if (value->bytes < BF_POPULATED_BYTES)
        return false;
    (void)pthread_mutex_lock(&lock);
    const bool is_current = current == value;
    assert(!is_current || !is_given_up);
    is_given_up = is_given_up || is_current;
    for (size_t i = piece_count; i-- > 0;)
        if (pieces[i].value == value)
            remove_piece(i);
    if (piece_count == 0 && pieces != NULL) {
        server.Free(pieces);
        pieces = NULL;
        piece_room = 0;
    }
    (void)pthread_mutex_unlock(&lock);
    return is_current;
}

/* Pieces in a block that goes while its value stays. */
static bool has_pieces_in(const struct bf_value *value, const uint8_t *memory, uint64_t bytes)
{
    for (size_t i = 0; i < piece_count; i++)
        if (pieces[i].value == value && (uint64_t)(pieces[i].memory - memory) < bytes)
            return true;
    return false;
}

void bf_populate_forget(struct bf_value *value, const uint8_t *memory, uint64_t bytes)
{
    if (bytes < BF_POPULATED_BYTES)
        return;
    (void)pthread_mutex_lock(&lock);
    if (has_pieces_in(value, memory, bytes)) {
        held = value;
        while (current == value)
            (void)pthread_cond_wait(&is_done, &lock);
        for (size_t i = piece_count; i-- > 0;)
            if (pieces[i].value == value && (uint64_t)(pieces[i].memory - memory) < bytes)
                remove_piece(i);
        held = NULL;
        (void)pthread_cond_signal(&comes);
    }
    (void)pthread_mutex_unlock(&lock);
}

void bf_populate_moved(struct bf_value *value)
{
    const bool is_lost = value->filter == NULL; /* for want of memory */
    if (value->bytes < BF_POPULATED_BYTES && !is_lost)
        return;
    (void)pthread_mutex_lock(&lock);
    assert(current != value);
    for (size_t i = piece_count; i-- > 0;)
        if (pieces[i].value == value && (is_lost || !has_layer_at(value, pieces[i].memory)))
            remove_piece(i);
    (void)pthread_mutex_unlock(&lock);
    if (!is_lost)
        bf_populate(value);
}

/* A child was born: no page is joined while it lives. It ended: what was written since lies in
 * small pages again. The server has no event for the end of a child in which a script is debugged;
 * pages wait for the end of the next one. */
static void child_changed(server_context *context, struct server_event event, uint64_t what,
                          void *nothing)
{
    (void)context, (void)event, (void)nothing;
    if (what != SERVER_CHILD_BORN && what != SERVER_CHILD_DIED)
        return;
    (void)pthread_mutex_lock(&lock);
    is_shared = what == SERVER_CHILD_BORN;
    for (size_t i = 0; i < piece_count && !is_shared; i++) {
        struct piece *piece = &pieces[i];
        note(piece, piece->bytes, piece->taken, first_huge(piece));
        atomic_fetch_sub(&bf_counts.huge_page_bytes, piece->huge);
        piece->huge = 0;
    }
    (void)pthread_cond_signal(&comes);
    (void)pthread_mutex_unlock(&lock);
}

void bf_populate_register(server_context *context, void (*release_value)(void *value))
{
    const struct server_event children = {SERVER_EVENT_CHILD, 1};
    release = release_value;
    if (server.SubscribeToServerEvent != NULL)
        (void)server.SubscribeToServerEvent(context, children, child_changed);
}
