/* SPDX-License-Identifier: Apache-2.0
 *
 * vdso - the kernel's code in every process ("[vdso]") as a file. All processes
 * of a kernel have the same.
 */
#ifndef PERFREC_COLLECTOR_NAMES_VDSO_H
#define PERFREC_COLLECTOR_NAMES_VDSO_H

#include <stdint.h>

/* Returns a descriptor, or -1 if @bytes, the size in another process, differs
 * (32-bit). Any thread. */
int vdso_open(uint64_t bytes);

#endif
