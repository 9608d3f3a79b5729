/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_image - an ELF file made anew of what a process has loaded of it: for
 * plugins whose file was deleted, or never had a name. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H
#define PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H

#include <stdint.h>

struct map_names;

/*
 * Of the segments that are not written to, with unwind tables and build-id, and
 * .dynsym; no .symtab and no debug information, which are not in memory.
 *
 * Of what lies at @start to @end - 1 of the process behind @proc_fd (O_PATH of
 * /proc/PID), @bias above its virtual addresses. A descriptor of a file in
 * memory, the caller's; or -errno: its memory may not be read (it is another
 * user's, or Yama forbids it), or there is no such thing there.
 */
int memory_image_open(int proc_fd, uint64_t start, uint64_t end, uint64_t bias);

/*
 * Of .dynsym alone, as the program told it: @names of a module that is no more
 * loaded, @build_id in hex, whose loaded segments take @bytes. A descriptor as
 * above, or -errno.
 */
int memory_image_of_names(const struct map_names *names, const char *build_id,
			  uint64_t bytes);

#endif
