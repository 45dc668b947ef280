/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a queue: the one at the tail, and how long others are. */
#include "sieve/queue/queue_inside.h"

#include <assert.h>
#include <fcntl.h>
#include <sys/stat.h>

bloomery_status bloomery_queue_tail_file(struct bloomery_queue *queue, bloomery_error *error)
{
    if (queue->tail_file.file >= 0)
        return BLOOMERY_OK;
    assert(bloomery_queue_on_disk(queue) && queue->tail.offset >= BLOOMERY_FILE_HEADER);
    if (queue->tail.offset == BLOOMERY_FILE_HEADER)
        return bloomery_store_create(queue->store, BLOOMERY_FILE_QUEUE, queue->tail.segment, 0,
                                     &queue->tail_file, error);
    const bloomery_status status =
        bloomery_store_open(queue->store, BLOOMERY_FILE_QUEUE, queue->tail.segment, 0,
                            queue->tail.offset, true, &queue->tail_file, error);
    queue->spoiled = false;
    return status;
}

uint64_t bloomery_queue_segment_bytes(const struct bloomery_queue *queue, uint64_t segment)
{
    char name[BLOOMERY_FILE_NAME];
    struct stat facts;
    bloomery_store_name(BLOOMERY_FILE_QUEUE, segment, 0, name);
    if (fstatat(queue->store->directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return (uint64_t)facts.st_size;
}
