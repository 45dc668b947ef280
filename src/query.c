/* SPDX-License-Identifier: Apache-2.0 */
/* Asking: keys -> hash/ -> hashes -> core/<kind> -> words of answers. */
#include "core/filter.h"

#include <assert.h>
#include <string.h>

enum { CHUNK = 512 };

bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                  bloomery_hash *hash)
{
    if (!filter->key_known)
        return BLOOMERY_KEY_NEEDED;
    *hash = filter->hash->one(&filter->secret, key);
    return BLOOMERY_OK;
}

bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    /* The newest link first: it is the largest, and holds what was added last. */
    for (uint32_t i = filter->shape.link_count; i-- > 0;) {
        const struct bloomery_link *link = &filter->links[i];
        if (filter->operations.may_contain(link, bloomery_link_payload(filter, link), hash))
            return true;
    }
    return false;
}

bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->key_known) /* whatever was added, "maybe" is never wrong */
        return true;
    return bloomery_may_contain_hash(filter, filter->hash->one(&filter->secret, key));
}

/* Answers for hashed keys, over all links. */
static size_t ask(const bloomery_filter *filter, const bloomery_hash *hashes, size_t count,
                  uint64_t *answers)
{
    const uint32_t links = filter->shape.link_count;
    uint64_t more[CHUNK / 64];
    size_t found = 0;
    assert(count <= CHUNK);
    for (uint32_t i = links; i-- > 0;) {
        const struct bloomery_link *link = &filter->links[i];
        uint64_t *words = i == links - 1 ? answers : more;
        found = filter->operations.may_contain_batch(link, bloomery_link_payload(filter, link),
                                                     hashes, count, words);
        if (words == answers)
            continue;
        found = 0;
        for (size_t word = 0; word < (count + 63) / 64; word++) {
            answers[word] |= more[word];
            found += (size_t)__builtin_popcountll(answers[word]);
        }
    }
    return found;
}

/* Every answer "maybe". */
static size_t all_maybe(size_t count, uint64_t *answers)
{
    if (answers != NULL && count > 0) {
        memset(answers, 0xff, (count + 63) / 64 * 8);
        if (count % 64 != 0)
            answers[count / 64] = ((uint64_t)1 << count % 64) - 1;
    }
    return count;
}

size_t bloomery_may_contain_batch(const bloomery_filter *filter, const bloomery_key *keys,
                                  size_t count, uint64_t *answers)
{
    bloomery_hash hashes[CHUNK];
    uint64_t unwanted[CHUNK / 64];
    size_t found = 0;
    if (!filter->key_known)
        return all_maybe(count, answers);
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t now = count - first < CHUNK ? count - first : CHUNK;
        filter->hash->many(&filter->secret, keys + first, now, hashes);
        found += ask(filter, hashes, now, answers != NULL ? answers + first / 64 : unwanted);
    }
    return found;
}
