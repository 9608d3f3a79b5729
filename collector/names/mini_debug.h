/* SPDX-License-Identifier: Apache-2.0
 *
 * mini_debug - MiniDebugInfo: the section .gnu_debugdata, in which stripped
 * files of some distributions keep their .symtab, as an ELF file packed by xz.
 * What it unpacks to comes from whoever made the file: its size, and the
 * memory that unpacking takes, have limits. Any thread; takes up to a second.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MINI_DEBUG_H
#define PERFREC_COLLECTOR_NAMES_MINI_DEBUG_H

#include <stdint.h>

/* A file in memory with what the @bytes at @offset of the file behind @fd
 * unpack to: the caller closes it. Or -errno: -EBADMSG (not xz, or damaged),
 * -EFBIG (more than is reasonable), -ENOMEM. */
int mini_debug_open(int fd, uint64_t offset, uint64_t bytes);

#endif
