/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_image - makes an ELF file again from what a process has loaded of it.
 * For plugins whose file was deleted, or never had a name. Any thread.
 *
 * The file has .dynsym, and, if made by memory_image_open(), the segments that
 * are not written to, with unwind tables and build-id. It has no .symtab and no
 * debug information: those are not in memory.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H
#define PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

struct map_names;
struct readers;

/*
 * The file of the module that lies at @start to @end - 1 of the process behind
 * @proc_fd (O_PATH of /proc/PID), @bias above the virtual addresses of the
 * file. @readers read it, as a process of user @uid: its memory may be that of
 * a file whose reads never end. Returns a descriptor of a file in memory, which
 * the caller closes; or -errno: the memory of the process may not be read (it
 * is another user's, or Yama forbids it), or there is no module there.
 */
int memory_image_open(struct readers *readers, uid_t uid, int proc_fd,
		      uint64_t start, uint64_t end, uint64_t bias);

/*
 * A file with .dynsym alone, from the @names that the program has told of a
 * module that is not loaded any more. @build_id is the module's, in hex; its
 * loaded segments took @bytes. Returns a descriptor as above, or -errno.
 */
int memory_image_of_names(const struct map_names *names, const char *build_id,
			  uint64_t bytes);

#endif
