/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RocksDB itself, where its library is installed: writes a table of these keys, whose filter the
 * test cuts out.
 *
 *     live_rocksdb FILE FORMAT_VERSION BITS_PER_KEY < KEYS
 *
 * Keys in hexadecimal, a line each, in the order of their bytes, each once, none empty. Exit 2:
 * RocksDB says no.
 */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static void fail(const char *why)
{
    fprintf(stderr, "live_rocksdb: %s\n", why);
    exit(2);
}

static size_t key_of(char *line)
{
    size_t bytes = 0;
    unsigned value;
    for (; sscanf(line + 2 * bytes, "%2x", &value) == 1; bytes++)
        line[bytes] = (char)value;
    return bytes;
}

static rocksdb_options_t *options_for(int format_version, double bits_per_key)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_format_version(table, format_version);
    rocksdb_block_based_options_set_filter_policy(
        table, rocksdb_filterpolicy_create_bloom_full(bits_per_key));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_block_based_options_destroy(table);
    return options;
}

int main(int count, char **arguments)
{
    char *line = NULL;
    size_t room = 0;
    char *error = NULL;
    if (count != 4)
        fail("FILE FORMAT_VERSION BITS_PER_KEY");
    rocksdb_options_t *options = options_for(atoi(arguments[2]), strtod(arguments[3], NULL));
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_sstfilewriter_t *writer = rocksdb_sstfilewriter_create(environment, options);
    rocksdb_sstfilewriter_open(writer, arguments[1], &error);
    for (ssize_t got; error == NULL && (got = getline(&line, &room, stdin)) > 0;) {
        const size_t bytes = key_of(line);
        rocksdb_sstfilewriter_put(writer, line, bytes, "", 0, &error);
    }
    if (error == NULL)
        rocksdb_sstfilewriter_finish(writer, &error);
    if (error != NULL)
        fail(error);
    rocksdb_sstfilewriter_destroy(writer);
    rocksdb_envoptions_destroy(environment);
    rocksdb_options_destroy(options);
    free(line);
    return 0;
}
