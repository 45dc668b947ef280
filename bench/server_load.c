/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clients of a server: one thread that keeps many connections busy, each with a few commands at
 * once, and says how long it took.
 *
 *     server-load PORT [options] WORD...       a command; the word @N stands for N items
 *
 *     --clients 16     connections
 *     --pipeline 4     commands that each sends together; it waits for all their replies
 *     --commands 1000  in all, rounded up to whole pipelines of one connection
 *     --first 0        number of the first item
 *     --distinct 0     number of items, after which the first ones come again (0: never)
 *     --seconds 60     nothing is sent after that
 *     --json FILE      where the row goes (default: standard output)
 *
 * Items are 16 hexadecimal digits: a bijection of their numbers, so they look random, and others
 * have others. An error in a reply ends the program. The row: commands, items, ones (integers
 * replied that are 1), seconds, cpu (processor seconds of this program), worst and median seconds
 * from sending a command to its reply, with those before it in the pipeline and in other clients'.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS_MAX = 256,
    ITEM_BYTES = 16,
    ROOM_BYTES = 1 << 18, /* for what a client sends, or receives and has not read yet */
    TIMES = 1 << 20,      /* that are kept for the median */
    PATIENCE_MS = 60000,  /* a server that is silent for so long is none */
    BULK_HEAD = 5,
    BULK_END = 2, /* of an item: "$16\r\n", "\r\n" */
};

struct client {
    int socket;
    char *out; /* the commands of one pipeline */
    size_t out_bytes, sent;
    char *in;
    size_t in_bytes;
    uint32_t waiting; /* replies */
    uint64_t left;    /* elements of the array that is being read */
    double since;     /* when its commands were sent */
};

struct load {
    uint16_t port;
    uint32_t clients, pipeline;
    uint64_t commands, first, distinct;
    double seconds;
    const char *json;
    char *const *words;
    int word_count;

    struct client client[CLIENTS_MAX];
    uint64_t sent, done, items, ones; /* commands, commands, items, integers */
    double *times;
    size_t time_count;
    double worst;
};

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("server-load: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL)
        fail("no memory");
    return memory;
}

/* ---- Sending --------------------------------------------------------------------------------- */

static void put_item(const struct load *load, char *at)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t x = load->first + (load->distinct > 0 ? load->items % load->distinct : load->items);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    for (int i = 0; i < ITEM_BYTES; i++, x >>= 4)
        at[i] = digits[x & 15];
}

static void put(struct client *client, const char *text, size_t bytes)
{
    if (bytes > ROOM_BYTES - client->out_bytes)
        fail("a pipeline of more than %d bytes", ROOM_BYTES);
    memcpy(client->out + client->out_bytes, text, bytes);
    client->out_bytes += bytes;
}

/* How many items a word stands for; 0: it stands for itself. */
static uint32_t items_of(const char *word)
{
    return word[0] == '@' ? (uint32_t)strtoul(word + 1, NULL, 10) : 0;
}

static void put_command(struct load *load, struct client *client)
{
    char head[64];
    char item[BULK_HEAD + ITEM_BYTES + BULK_END] = "$16\r\n";
    uint32_t words = 0;
    memcpy(item + BULK_HEAD + ITEM_BYTES, "\r\n", BULK_END);
    for (int i = 0; i < load->word_count; i++)
        words += items_of(load->words[i]) > 0 ? items_of(load->words[i]) : 1;
    put(client, head, (size_t)snprintf(head, sizeof head, "*%u\r\n", words));
    for (int i = 0; i < load->word_count; i++) {
        const char *word = load->words[i];
        const uint32_t items = items_of(word);
        for (uint32_t j = 0; j < items; j++, load->items++) {
            put_item(load, item + BULK_HEAD);
            put(client, item, sizeof item);
        }
        if (items > 0)
            continue;
        put(client, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", strlen(word)));
        put(client, word, strlen(word));
        put(client, "\r\n", 2);
    }
}

static void send_more(struct client *client)
{
    while (client->sent < client->out_bytes) {
        const ssize_t count = send(client->socket, client->out + client->sent,
                                   client->out_bytes - client->sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (count <= 0)
            fail("the server closed the connection");
        client->sent += (size_t)count;
    }
}

static void send_pipeline(struct load *load, struct client *client)
{
    assert(client->waiting == 0 && client->left == 0);
    client->out_bytes = client->sent = 0;
    for (uint32_t i = 0; i < load->pipeline; i++)
        put_command(load, client);
    client->waiting = load->pipeline;
    load->sent += load->pipeline;
    client->since = now();
    send_more(client);
}

/* ---- Replies --------------------------------------------------------------------------------- */

static void reply_is_whole(struct load *load, struct client *client)
{
    const double took = now() - client->since;
    assert(client->waiting > 0);
    client->waiting--;
    load->times[load->done++ % TIMES] = took;
    if (load->time_count < TIMES)
        load->time_count++;
    if (took > load->worst)
        load->worst = took;
}

/* Takes one element, if it is there as a whole; how many bytes that were. */
static size_t take(struct load *load, struct client *client, const char *at, size_t bytes)
{
    const char *end = memchr(at, '\n', bytes);
    if (end == NULL)
        return 0;
    size_t size = (size_t)(end - at) + 1;
    const long long number = at[0] == ':' || at[0] == '*' || at[0] == '$' ? atoll(at + 1) : 0;
    if (at[0] == '-')
        fail("%.*s", (int)size - 2, at + 1);
    if (at[0] == '$' && number >= 0)
        size += (size_t)number + 2;
    if (size > bytes)
        return 0;
    if (at[0] == '*' && number > 0) {
        assert(client->left == 0);
        client->left = (uint64_t)number;
        return size;
    }
    load->ones += at[0] == ':' && number == 1;
    if (client->left == 0 || --client->left == 0)
        reply_is_whole(load, client);
    return size;
}

static void receive(struct load *load, struct client *client)
{
    size_t at = 0, taken = 1;
    const ssize_t count = recv(client->socket, client->in + client->in_bytes,
                               ROOM_BYTES - client->in_bytes, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (count <= 0)
        fail("the server closed the connection");
    client->in_bytes += (size_t)count;
    while (at < client->in_bytes && taken > 0) {
        taken = take(load, client, client->in + at, client->in_bytes - at);
        at += taken;
    }
    client->in_bytes -= at;
    memmove(client->in, client->in + at, client->in_bytes);
    if (client->in_bytes == ROOM_BYTES)
        fail("a reply of more than %d bytes", ROOM_BYTES);
}

/* ---- All of it ------------------------------------------------------------------------------- */

static void connect_to(struct client *client, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int yes = 1;
    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->socket < 0 ||
        connect(client->socket, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(client->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        fail("no server at port %u", port);
    client->out = allocate(ROOM_BYTES);
    client->in = allocate(ROOM_BYTES);
}

/* Asks the sockets which can go on, until every client has its replies. */
static void run(struct load *load)
{
    const double end = now() + load->seconds;
    struct pollfd polled[CLIENTS_MAX];
    for (uint32_t i = 0; i < load->clients && load->sent < load->commands; i++)
        send_pipeline(load, &load->client[i]);
    while (load->done < load->sent) {
        for (uint32_t i = 0; i < load->clients; i++) {
            const struct client *client = &load->client[i];
            polled[i] = (struct pollfd){.fd = client->socket, .events = POLLIN};
            if (client->sent < client->out_bytes)
                polled[i].events |= POLLOUT;
        }
        if (poll(polled, load->clients, PATIENCE_MS) <= 0)
            fail("the server does not answer");
        for (uint32_t i = 0; i < load->clients; i++) {
            struct client *client = &load->client[i];
            if ((polled[i].revents & POLLOUT) != 0)
                send_more(client);
            if ((polled[i].revents & ~POLLOUT) != 0)
                receive(load, client);
            if (client->waiting == 0 && load->sent < load->commands && now() < end)
                send_pipeline(load, client);
        }
    }
}

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static void report(struct load *load, double seconds)
{
    struct rusage usage;
    FILE *file = load->json != NULL ? fopen(load->json, "w") : stdout;
    if (file == NULL || load->time_count == 0)
        fail("nothing was done, or it can't be written");
    getrusage(RUSAGE_SELF, &usage);
    qsort(load->times, load->time_count, sizeof *load->times, compare);
    fprintf(file,
            "{\"commands\": %" PRIu64 ", \"items\": %" PRIu64 ", \"ones\": %" PRIu64
            ", \"seconds\": %.6f, \"cpu\": %.6f, \"worst\": %.6f, \"median\": %.6f}\n",
            load->done, load->items, load->ones, seconds,
            (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6,
            load->worst, load->times[load->time_count / 2]);
    if (fclose(file) != 0)
        fail("the row can't be written");
}

/* Reads options; the place of the first word that is none. */
static int read_options(struct load *load, int count, char **words)
{
    int at = 2;
    for (; at + 1 < count && strncmp(words[at], "--", 2) == 0; at += 2) {
        const char *name = words[at] + 2;
        const char *value = words[at + 1];
        const uint64_t number = strtoull(value, NULL, 10);
        if (strcmp(name, "clients") == 0)
            load->clients = (uint32_t)number;
        else if (strcmp(name, "pipeline") == 0)
            load->pipeline = (uint32_t)number;
        else if (strcmp(name, "commands") == 0)
            load->commands = number;
        else if (strcmp(name, "first") == 0)
            load->first = number;
        else if (strcmp(name, "distinct") == 0)
            load->distinct = number;
        else if (strcmp(name, "seconds") == 0)
            load->seconds = (double)number;
        else if (strcmp(name, "json") == 0)
            load->json = value;
        else
            fail("unknown option --%s", name);
    }
    return at;
}

int main(int count, char **words)
{
    static struct load load = {.clients = 16, .pipeline = 4, .commands = 1000, .seconds = 60};
    const int first = read_options(&load, count, words);
    if (first >= count || load.clients == 0 || load.clients > CLIENTS_MAX || load.pipeline == 0)
        fail("usage: server-load PORT [options] WORD...");
    load.port = (uint16_t)strtoul(words[1], NULL, 10);
    load.words = words + first;
    load.word_count = count - first;
    load.times = allocate(TIMES * sizeof *load.times);
    for (uint32_t i = 0; i < load.clients; i++)
        connect_to(&load.client[i], load.port);
    const double begin = now();
    run(&load);
    report(&load, now() - begin);
    return 0;
}
