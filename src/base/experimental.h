/* SPDX-License-Identifier: Apache-2.0 */
/* bloomery/experimental.h for the files that make what it declares, or use it. */
#ifndef BLOOMERY_BASE_EXPERIMENTAL_H
#define BLOOMERY_BASE_EXPERIMENTAL_H

#ifndef BLOOMERY_EXPERIMENTAL
#define BLOOMERY_EXPERIMENTAL
#endif

#include <bloomery/experimental.h>

#endif
