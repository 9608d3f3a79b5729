/* SPDX-License-Identifier: Apache-2.0
 *
 * vdso - the code that the kernel puts into every process ("[vdso]"), as a
 * file. All processes of a kernel have the same, so ours is theirs.
 */
#ifndef PERFREC_COLLECTOR_NAMES_VDSO_H
#define PERFREC_COLLECTOR_NAMES_VDSO_H

#include <stdint.h>

/* A descriptor of a file with our vdso, which the caller closes; always of the
 * same file. @bytes is how much memory the vdso of another process takes. If
 * the two sizes differ (that of a 32-bit process is another one): -1. Any
 * thread. */
int vdso_open(uint64_t bytes);

#endif
