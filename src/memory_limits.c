/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of memory, and which of them is met first. */
#include "base/limits.h"
#include "base/sized.h"
#include "plan/describe.h"

void bloomery_limits_get(bloomery_limits *limits)
{
    bloomery_limits all = BLOOMERY_LIMITS;
    bloomery_limits_read(bloomery_limits_root(), &all);
    bloomery_phrase_limits(&all);
    bloomery_sized_give(&all, sizeof all, limits, limits->struct_bytes);
}
