/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes are sorted by x, then by lo. These two words say what the third, hi, is. */
#include "builder/pairs.h"

#include "kinds/static.h"

/* Heaps of two or three hashes, by digits of up to eight bits. `with` is the layer; a constant 0
 * for the first one, whose x takes no work. */
#define SORT(name)               first_##name
#define SORT_ELEMENT             bloomery_hash
#define SORT_WORDS               2
#define SORT_WORD(hash, with, n) ((n) == 0 ? bloomery_equation_x(hash, 0) : (hash).lo)
#define SORT_DIGIT_BITS          8
#define SORT_MEAN_BITS           1
#include "base/sort_template.h"

#define SORT(name)               later_##name
#define SORT_ELEMENT             bloomery_hash
#define SORT_WORDS               2
#define SORT_WORD(hash, with, n) ((n) == 0 ? bloomery_equation_x(hash, with) : (hash).lo)
#define SORT_DIGIT_BITS          8
#define SORT_MEAN_BITS           1
#include "base/sort_template.h"

void bloomery_pairs_sort(bloomery_hash *hashes, size_t count, uint32_t layer, uint32_t same)
{
    if (layer == 0)
        first_all(hashes, count, 0, same);
    else
        later_all(hashes, count, layer, same);
}

size_t bloomery_pairs_distinct(bloomery_hash *hashes, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || hashes[i].hi != hashes[kept - 1].hi || hashes[i].lo != hashes[kept - 1].lo)
            hashes[kept++] = hashes[i];
    return kept;
}
