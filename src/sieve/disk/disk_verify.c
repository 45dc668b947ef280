/* SPDX-License-Identifier: Apache-2.0 */
/* Reading every frame of the disk engine's files, and every fingerprint. */
#include "sieve/disk/disk.h"

#include "base/error.h"

#include <assert.h>

static bloomery_status open_seen(bloomery_sieve *sieve, uint32_t number,
                                 struct bloomery_store_file *file, bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    assert(partition->seen_entries > 0); /* or there is no file */
    return bloomery_store_open(
        &sieve->store, BLOOMERY_FILE_SEEN, number, partition->seen_generation,
        bloomery_seen_bytes(partition->seen_entries, sieve->disk->width), false, file, error);
}

struct findings {
    bloomery_sieve_report report;
    void *context;
    uint64_t damaged;
};

/* Damage is told and passed over; any other failure ends the reading. */
static bloomery_status tell(struct findings *findings, bloomery_status status,
                            const bloomery_error *found, bloomery_error *error)
{
    if (status == BLOOMERY_OK)
        return BLOOMERY_OK;
    if (status != BLOOMERY_CORRUPT && status != BLOOMERY_WRONG_VERSION) {
        if (error != NULL)
            *error = *found;
        return status;
    }
    findings->damaged++;
    if (findings->report != NULL)
        findings->report(findings->context, found->text);
    return BLOOMERY_OK;
}

static bloomery_status verify_seen(bloomery_sieve *sieve, uint32_t number,
                                   struct findings *findings, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const uint64_t entries = disk->partition[number].seen_entries;
    struct bloomery_store_file file;
    struct bloomery_seen_reader reader;
    bloomery_error found;
    size_t count = 0;
    if (entries == 0)
        return BLOOMERY_OK;
    bloomery_status status = open_seen(sieve, number, &file, &found);
    if (status != BLOOMERY_OK)
        return tell(findings, status, &found, error);
    bloomery_seen_begin(&reader, &sieve->store, &file, entries, disk->width, disk->in);
    do {
        status = tell(findings, bloomery_seen_next(&reader, disk->frame_values, &count, &found),
                      &found, error);
    } while (status == BLOOMERY_OK && count > 0);
    bloomery_store_close(&file);
    return status;
}

static bloomery_status verify_log(bloomery_sieve *sieve, uint32_t number, struct findings *findings,
                                  bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    struct bloomery_log_frame frame;
    bloomery_error found;
    uint64_t entries = 0;
    bloomery_status status = BLOOMERY_OK;
    for (uint64_t at = BLOOMERY_FILE_HEADER; at < partition->log_bytes;) {
        status = bloomery_log_read(sieve, number, at, sieve->disk->area, BLOOMERY_LOG_FRAME, &frame,
                                   &found);
        bloomery_log_release(sieve, &frame);
        status = tell(findings, status, &found, error);
        const bool headed = frame.frame.entries > 0;
        entries += frame.frame.entries;
        at += headed ? bloomery_frame_bytes(&frame.frame) : 1;
        /* A header that is damaged does not say where the next one is. */
        if (status == BLOOMERY_OK && !headed)
            status = bloomery_frame_find(&sieve->store, &partition->log, at, partition->log_bytes,
                                         &at, &frame.frame, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    if (partition->log_bytes == 0 || entries == partition->log_entries)
        return BLOOMERY_OK;
    return tell(findings,
                bloomery_store_damaged(
                    &sieve->store, &partition->log, 0, &found,
                    "%llu pending keys of those that the manifest counts are not in whole frames",
                    (unsigned long long)(partition->log_entries - entries)),
                &found, error);
}

bloomery_status bloomery_disk_verify(bloomery_sieve *sieve, bloomery_sieve_report report,
                                     void *context, uint64_t *damaged, bloomery_error *error)
{
    struct findings findings = {.report = report, .context = context};
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < sieve->disk->partitions; i++) {
        status = bloomery_log_seal(sieve, i, error);
        if (status == BLOOMERY_OK)
            status = verify_seen(sieve, i, &findings, error);
        if (status == BLOOMERY_OK)
            status = verify_log(sieve, i, &findings, error);
    }
    *damaged += findings.damaged;
    return status;
}

int bloomery_disk_each(bloomery_sieve *sieve, int (*take)(void *context, uint64_t fingerprint),
                       void *context, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < disk->partitions; i++) {
        const uint64_t entries = disk->partition[i].seen_entries;
        struct bloomery_store_file file;
        struct bloomery_seen_reader reader;
        size_t count = 0;
        if (entries == 0)
            continue;
        result = open_seen(sieve, i, &file, error);
        if (result != 0)
            return result;
        bloomery_seen_begin(&reader, &sieve->store, &file, entries, disk->width, disk->in);
        do {
            result = bloomery_seen_next(&reader, disk->frame_values, &count, error);
            for (size_t j = 0; result == 0 && j < count; j++)
                result = take(context, disk->frame_values[j]);
        } while (result == 0 && count > 0);
        bloomery_store_close(&file);
    }
    return result;
}
