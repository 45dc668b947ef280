/* SPDX-License-Identifier: Apache-2.0 */
/* Files and frames of the sieve: what was written comes back, and nothing else does. */
#include "sieve_place.h"

#include "hash/hashes.h"

#include <stdlib.h>
#include <sys/stat.h>

enum { FIXED = 80, BODY = 300 };

static void fill(uint8_t *bytes, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)test_next(&seed);
}

static struct bloomery_store_file create(struct place *place, uint64_t number)
{
    struct bloomery_store_file file;
    bloomery_error error;
    assert_int_equal(
        bloomery_store_create(&place->store, BLOOMERY_FILE_PENDING, number, 1, &file, &error),
        BLOOMERY_OK);
    return file;
}

static uint64_t length_of(const struct place *place, const char *name)
{
    char path[300];
    struct stat facts;
    place_path(place, name, path, sizeof path);
    assert_int_equal(stat(path, &facts), 0);
    return (uint64_t)facts.st_size;
}

static void names_are_those_of_the_format(void **state)
{
    char name[BLOOMERY_FILE_NAME];
    (void)state;
    bloomery_store_name(BLOOMERY_FILE_SEEN, 3, 12, name);
    assert_string_equal(name, "seen-003.12");
    bloomery_store_name(BLOOMERY_FILE_PENDING, 1023, 7, name);
    assert_string_equal(name, "pending-1023.7");
    bloomery_store_name(BLOOMERY_FILE_QUEUE, 1, 0, name);
    assert_string_equal(name, "queue-000000000001");
    bloomery_store_name(BLOOMERY_FILE_QUEUE, UINT64_MAX, 0, name);
    assert_string_equal(name, "queue-18446744073709551615");
    bloomery_store_name(BLOOMERY_FILE_FILTER, 0, 3, name);
    assert_string_equal(name, "filter.3");
}

static void frames_come_back(void **state)
{
    uint8_t fixed[FIXED];
    uint8_t body[BODY];
    uint8_t found[BODY];
    struct place place;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    struct bloomery_store_file file = create(&place, 1);
    uint64_t offset = BLOOMERY_FILE_HEADER;
    for (uint32_t i = 0; i < 50; i++) {
        fill(fixed, FIXED, i);
        fill(body, BODY, i + 100);
        struct bloomery_frame frame = {
            .entries = i, .fixed_bytes = i % FIXED, .body_bytes = i * 6, .first = i * 1000};
        assert_int_equal(bloomery_frame_write(&place.store, &file, offset, &frame,
                                              i % FIXED > 0 ? fixed : NULL, i > 0 ? body : NULL,
                                              &error),
                         BLOOMERY_OK);
        offset += bloomery_frame_bytes(&frame);
    }
    assert_int_equal(place.store.bytes_written, offset);
    bloomery_store_close(&file);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, offset, false,
                                         &file, &error),
                     BLOOMERY_OK);
    const uint64_t end = offset;
    offset = BLOOMERY_FILE_HEADER;
    for (uint32_t i = 0; i < 50; i++) {
        struct bloomery_frame frame;
        fill(fixed, FIXED, i);
        fill(body, BODY, i + 100);
        assert_int_equal(bloomery_frame_header(&place.store, &file, offset, end, &frame, &error),
                         BLOOMERY_OK);
        assert_int_equal(frame.entries, i);
        assert_int_equal(frame.first, i * 1000);
        assert_int_equal(bloomery_frame_fixed(&place.store, &file, offset, &frame, found, &error),
                         BLOOMERY_OK);
        assert_memory_equal(found, fixed, frame.fixed_bytes);
        assert_int_equal(bloomery_frame_body(&place.store, &file, offset, &frame, found, &error),
                         BLOOMERY_OK);
        assert_memory_equal(found, body, frame.body_bytes);
        /* It must end before the end, and begin where it begins. */
        assert_int_equal(bloomery_frame_header(&place.store, &file, offset,
                                               offset + bloomery_frame_bytes(&frame) - 1, &frame,
                                               &error),
                         BLOOMERY_CORRUPT);
        assert_int_equal(
            bloomery_frame_header(&place.store, &file, offset + 1, end, &frame, &error),
            BLOOMERY_CORRUPT);
        offset += bloomery_frame_bytes(&frame);
    }
    assert_int_equal(offset, end);
    bloomery_store_close(&file);
    place_close(&place);
}

/* One frame in a file; its three parts. */
static struct bloomery_store_file write_one(struct place *place, uint64_t number,
                                            struct bloomery_frame *frame)
{
    uint8_t fixed[FIXED];
    uint8_t body[BODY];
    bloomery_error error;
    fill(fixed, FIXED, 1);
    fill(body, BODY, 2);
    struct bloomery_store_file file = create(place, number);
    *frame = (struct bloomery_frame){
        .entries = 5, .fixed_bytes = FIXED, .body_bytes = BODY, .first = 99};
    assert_int_equal(bloomery_frame_write(&place->store, &file, BLOOMERY_FILE_HEADER, frame, fixed,
                                          body, &error),
                     BLOOMERY_OK);
    return file;
}

static bloomery_status read_one(struct place *place, const struct bloomery_store_file *file,
                                uint64_t offset, uint64_t end, bloomery_error *error)
{
    uint8_t part[BODY];
    struct bloomery_frame frame;
    bloomery_status status = bloomery_frame_header(&place->store, file, offset, end, &frame, error);
    if (status == BLOOMERY_OK && (frame.fixed_bytes > BODY || frame.body_bytes > BODY))
        fail();
    if (status == BLOOMERY_OK)
        status = bloomery_frame_fixed(&place->store, file, offset, &frame, part, error);
    if (status == BLOOMERY_OK)
        status = bloomery_frame_body(&place->store, file, offset, &frame, part, error);
    return status;
}

static void every_damaged_byte_is_found(void **state)
{
    struct place place;
    struct bloomery_frame frame;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    struct bloomery_store_file file = write_one(&place, 1, &frame);
    const uint64_t end = BLOOMERY_FILE_HEADER + bloomery_frame_bytes(&frame);
    assert_int_equal(read_one(&place, &file, BLOOMERY_FILE_HEADER, end, &error), BLOOMERY_OK);
    for (uint64_t at = 0; at < end; at++) {
        struct bloomery_store_file again = {.file = -1};
        uint8_t byte;
        assert_int_equal(pread(file.file, &byte, 1, (off_t)at), 1);
        byte ^= (uint8_t)(1 << at % 8);
        assert_int_equal(pwrite(file.file, &byte, 1, (off_t)at), 1);
        const bloomery_status opened = bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1,
                                                           1, end, false, &again, &error);
        assert_int_equal(opened, at < BLOOMERY_FILE_HEADER ? BLOOMERY_CORRUPT : BLOOMERY_OK);
        if (opened == BLOOMERY_OK)
            assert_int_equal(read_one(&place, &again, BLOOMERY_FILE_HEADER, end, &error),
                             BLOOMERY_CORRUPT);
        assert_non_null(strstr(error.text, "crawl/pending-001.1"));
        bloomery_store_close(&again);
        byte ^= (uint8_t)(1 << at % 8);
        assert_int_equal(pwrite(file.file, &byte, 1, (off_t)at), 1);
    }
    bloomery_store_close(&file);
    place_close(&place);
}

/* The same bytes in another file, of another sieve, or elsewhere in their file. */
static void frames_are_tied_to_their_place(void **state)
{
    uint8_t bytes[2 * (BLOOMERY_FRAME_HEADER + FIXED + BODY)];
    struct place place;
    struct bloomery_frame frame;
    bloomery_error error;
    (void)state;
    place_open(&place, true);
    struct bloomery_store_file one = write_one(&place, 1, &frame);
    struct bloomery_store_file other = write_one(&place, 2, &frame);
    const size_t size = bloomery_frame_bytes(&frame);
    const uint64_t end = BLOOMERY_FILE_HEADER + 2 * size;
    assert_int_equal(
        bloomery_store_read(&place.store, &one, BLOOMERY_FILE_HEADER, bytes, size, &error),
        BLOOMERY_OK);
    assert_int_equal(
        bloomery_store_write(&place.store, &one, BLOOMERY_FILE_HEADER + size, bytes, size, &error),
        BLOOMERY_OK);
    assert_int_equal(read_one(&place, &one, BLOOMERY_FILE_HEADER, end, &error), BLOOMERY_OK);
    assert_int_equal(read_one(&place, &one, BLOOMERY_FILE_HEADER + size, end, &error),
                     BLOOMERY_CORRUPT);
    assert_int_equal(
        bloomery_store_write(&place.store, &other, BLOOMERY_FILE_HEADER, bytes, size, &error),
        BLOOMERY_OK);
    assert_int_equal(read_one(&place, &other, BLOOMERY_FILE_HEADER, end, &error), BLOOMERY_CORRUPT);
    bloomery_store_close(&other);
    bloomery_store_close(&one);
    place.store.seed++;
    assert_int_equal(
        bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, end, false, &one, &error),
        BLOOMERY_OK);
    assert_int_equal(read_one(&place, &one, BLOOMERY_FILE_HEADER, end, &error), BLOOMERY_CORRUPT);
    bloomery_store_close(&one);
    place.store.id[3] ^= 1;
    assert_int_equal(
        bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, end, false, &one, &error),
        BLOOMERY_CORRUPT);
    place_close(&place);
}

static void opening_cuts_to_what_counts(void **state)
{
    struct place place;
    struct bloomery_frame frame;
    bloomery_error error = {.text = ""};
    char path[300];
    (void)state;
    place_open(&place, true);
    struct bloomery_store_file file = write_one(&place, 1, &frame);
    const uint64_t end = BLOOMERY_FILE_HEADER + bloomery_frame_bytes(&frame);
    bloomery_store_close(&file);
    /* Nothing is cut of a file that is not the right one. */
    place_path(&place, "pending-002.1", path, sizeof path);
    test_write_file(path, "some notes of somebody, longer than a header of sixty-four bytes is",
                    67);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 2, 1,
                                         BLOOMERY_FILE_HEADER, true, &file, &error),
                     BLOOMERY_CORRUPT);
    assert_int_equal(length_of(&place, "pending-002.1"), 67);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, end + 1, true,
                                         &file, &error),
                     BLOOMERY_CORRUPT);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, end - 9, false,
                                         &file, &error),
                     BLOOMERY_OK);
    assert_int_equal(length_of(&place, "pending-001.1"), end);
    bloomery_store_close(&file);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1, end - 9, true,
                                         &file, &error),
                     BLOOMERY_OK);
    assert_int_equal(length_of(&place, "pending-001.1"), end - 9);
    bloomery_store_close(&file);
    assert_int_equal(
        bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 9, 1, end, true, &file, &error),
        BLOOMERY_CORRUPT);
    assert_non_null(strstr(error.text, "missing"));
    place_close(&place);
}

static void later_versions_are_refused(void **state)
{
    struct place place;
    struct bloomery_frame frame;
    bloomery_error error;
    uint8_t header[BLOOMERY_FILE_HEADER];
    (void)state;
    place_open(&place, true);
    struct bloomery_store_file file = write_one(&place, 1, &frame);
    assert_int_equal(bloomery_store_read(&place.store, &file, 0, header, sizeof header, &error),
                     BLOOMERY_OK);
    bloomery_store_u32(header + 8, BLOOMERY_SIEVE_VERSION + 1);
    bloomery_store_u64(header + 56, bloomery_checksum(header, 56, 0));
    assert_int_equal(bloomery_store_write(&place.store, &file, 0, header, sizeof header, &error),
                     BLOOMERY_OK);
    bloomery_store_close(&file);
    assert_int_equal(bloomery_store_open(&place.store, BLOOMERY_FILE_PENDING, 1, 1,
                                         BLOOMERY_FILE_HEADER, true, &file, &error),
                     BLOOMERY_WRONG_VERSION);
    place_close(&place);
}

/* A write that stops anywhere is an error, and is done again at the same place. */
static void a_full_disk_is_survived(void **state)
{
    uint8_t fixed[FIXED];
    uint8_t body[BODY];
    struct place place;
    bloomery_error error;
    (void)state;
    fill(fixed, FIXED, 7);
    fill(body, BODY, 8);
    place_open(&place, true);
    for (uint64_t room = 0; room < BLOOMERY_FILE_HEADER; room += 21) {
        struct bloomery_store_file file;
        limit_files(room);
        const bloomery_status status =
            bloomery_store_create(&place.store, BLOOMERY_FILE_PENDING, 1, 1, &file, &error);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, BLOOMERY_IO_FAILED);
        assert_int_equal(test_directory_entries(&place.directory), 0);
    }
    struct bloomery_store_file file = create(&place, 1);
    struct bloomery_frame frame = {
        .entries = 5, .fixed_bytes = FIXED, .body_bytes = BODY, .first = 99};
    const uint64_t bytes = bloomery_frame_bytes(&frame);
    for (uint64_t room = 0; room < bytes; room++) {
        limit_files(BLOOMERY_FILE_HEADER + room);
        const bloomery_status status = bloomery_frame_write(
            &place.store, &file, BLOOMERY_FILE_HEADER, &frame, fixed, body, &error);
        limit_files(RLIM_INFINITY);
        assert_int_equal(status, BLOOMERY_IO_FAILED);
    }
    assert_int_equal(bloomery_frame_write(&place.store, &file, BLOOMERY_FILE_HEADER, &frame, fixed,
                                          body, &error),
                     BLOOMERY_OK);
    assert_int_equal(
        read_one(&place, &file, BLOOMERY_FILE_HEADER, BLOOMERY_FILE_HEADER + bytes, &error),
        BLOOMERY_OK);
    bloomery_store_close(&file);
    place_close(&place);
}

/* What a failed sync leaves on the disk is not known, and a second one would not tell. */
static void after_a_failed_sync_all_fail(void **state)
{
    struct place place;
    bloomery_error error;
    int ends[2];
    (void)state;
    place_open(&place, true);
    place.store.syncs = true;
    struct bloomery_store_file file = create(&place, 1);
    struct bloomery_store_file other = create(&place, 2);
    assert_true(other.dirty && place.store.names_changed);
    assert_int_equal(bloomery_store_sync(&place.store, &other, &error), BLOOMERY_OK);
    assert_false(other.dirty);
    assert_int_equal(pipe(ends), 0);
    const int whole = file.file;
    file.file = ends[1]; /* a pipe cannot be synced */
    assert_int_equal(bloomery_store_sync(&place.store, &file, &error), BLOOMERY_IO_FAILED);
    file.file = whole;
    assert_true(place.store.failed && file.dirty);
    assert_int_equal(bloomery_store_sync(&place.store, &file, &error), BLOOMERY_IO_FAILED);
    assert_int_equal(bloomery_store_sync_names(&place.store, &error), BLOOMERY_IO_FAILED);
    close(ends[0]);
    close(ends[1]);
    bloomery_store_close(&file);
    bloomery_store_close(&other);
    place_close(&place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_format),
        cmocka_unit_test(frames_come_back),
        cmocka_unit_test(every_damaged_byte_is_found),
        cmocka_unit_test(frames_are_tied_to_their_place),
        cmocka_unit_test(opening_cuts_to_what_counts),
        cmocka_unit_test(later_versions_are_refused),
        cmocka_unit_test(a_full_disk_is_survived),
        cmocka_unit_test(after_a_failed_sync_all_fail),
    };
    return test_run_group("sieve_store", tests, NULL, NULL);
}
