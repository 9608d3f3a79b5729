/* SPDX-License-Identifier: Apache-2.0
 *
 * mini_debug - MiniDebugInfo: .gnu_debugdata, the .symtab of stripped files in
 * some distributions, as an ELF file packed by xz. Hostile, so output size and
 * memory have limits. Any thread; takes up to a second.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MINI_DEBUG_H
#define PERFREC_COLLECTOR_NAMES_MINI_DEBUG_H

#include <stdint.h>

/* Returns a memfd with the unpacked @bytes at @offset of @fd; or -errno:
 * -EBADMSG (no xz, or damaged), -EFBIG or -ENOMEM. */
int mini_debug_open(int fd, uint64_t offset, uint64_t bytes);

#endif
