/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_image - recreates an ELF file from the memory of a process, for
 * plugins whose file was deleted or never had a name. Any thread.
 *
 * The file has .dynsym. From memory_image_open() it also has the read-only
 * segments, with unwind tables and build-id. .symtab and debug information are
 * not in memory.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H
#define PERFREC_COLLECTOR_NAMES_MEMORY_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

struct map_names;
struct readers;

/* Recreates the module at [@start, @end) of the process behind @proc_fd (O_PATH
 * of /proc/PID). @bias is added to its virtual addresses. @readers read it as
 * user @uid, since its pages may belong to a file whose reads block. Returns a
 * memfd, or -errno: no permission (another user, Yama) or no module. */
int memory_image_open(struct readers *readers, uid_t uid, int proc_fd,
		      uint64_t start, uint64_t end, uint64_t bias);

/* Recreates .dynsym from the @names of an unloaded module. @build_id is hex;
 * its segments took @bytes. Returns a memfd, or -errno. */
int memory_image_of_names(const struct map_names *names, const char *build_id,
			  uint64_t bytes);

#endif
