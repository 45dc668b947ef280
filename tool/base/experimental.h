/* SPDX-License-Identifier: Apache-2.0 */
/* bloomery/experimental.h for the files that use it: the command shows layers and positions, and
 * looks at the limits of memory. */
#ifndef BLOOMERY_TOOL_EXPERIMENTAL_H
#define BLOOMERY_TOOL_EXPERIMENTAL_H

#define BLOOMERY_EXPERIMENTAL

#include <bloomery/experimental.h>

#endif /* BLOOMERY_TOOL_EXPERIMENTAL_H */
