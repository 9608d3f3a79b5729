/* SPDX-License-Identifier: Apache-2.0
 *
 * vdso - the code that the kernel puts into every process ("[vdso]"), as a
 * file. All processes of a kernel have the same, so ours is theirs.
 */
#ifndef PERFREC_COLLECTOR_NAMES_VDSO_H
#define PERFREC_COLLECTOR_NAMES_VDSO_H

#include <stdint.h>

/* A descriptor of a file with it, if that of another process, which has @bytes
 * of memory, may be the same (a 32-bit one is not); else -1. The caller closes
 * it. Always the same file. Any thread. */
int vdso_open(uint64_t bytes);

#endif
