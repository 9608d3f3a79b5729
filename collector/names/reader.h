/* SPDX-License-Identifier: Apache-2.0
 *
 * reader - reads files that programs name, in processes of their own
 * (perfrec-reader): such a file may be anything, and may be a file whose reads
 * never end. perfrec-reader gets a descriptor of the file, and can open
 * nothing. It has limits of memory, CPU time and time. When it exceeds one it
 * is killed, and only the file that it read then has no names.
 *
 * A process reads one file after the other, but only for programs of one user:
 * what a file of one user could do to the process is then no danger for others.
 * So each call names the user.
 *
 * Any thread may call these functions, and any number of threads at once: each
 * call has a process to itself, and waits for it. Those that say so wait for
 * READER_SECONDS_SHORT at most, the others for READER_SECONDS.
 *
 * Each function returns 0, or -errno with a few words in @why: -ENOEXEC: it is
 * no ELF file of this kind of machine; -ETIMEDOUT: a limit was exceeded. After
 * an error *@out is as before. Descriptors stay the caller's, and may be
 * O_PATH: then the file is opened here if it is on a disk of this machine, else
 * by an opener (opener.h).
 */
#ifndef PERFREC_COLLECTOR_NAMES_READER_H
#define PERFREC_COLLECTOR_NAMES_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"

#define READER_SECONDS_SHORT 5
#define READER_SECONDS 30
#define READER_WHY_BYTES 160

struct openers;
struct readers; /* the processes of a collector */

struct readers_stats { /* since the start, but for idle */
	uint64_t started, killed; /* processes; killed for a limit */
	uint32_t busy, idle; /* processes, now */
};

/* 0 or -ENOMEM. No process is started before the first call. */
int readers_new(struct readers **out);
/* Only when no call is under way. Also for NULL. */
void readers_free(struct readers **readers);
/* Ends the processes that are idle. Call it when a recording has ended, so that
 * a daemon with nothing to do has none. */
void readers_rest(struct readers *readers);
/* Ends those that have been idle since before @before_ns (CLOCK_MONOTONIC).
 * Never waits. */
void readers_tire(struct readers *readers, uint64_t before_ns);
void readers_stats(struct readers *readers, struct readers_stats *out);
/* What opens files whose file system may not answer; belongs to @readers. */
struct openers *readers_openers(struct readers *readers);

/* What elf_read_headers() finds in the file @fd for a program of user @uid. The
 * caller frees out->segments. Short. */
int reader_headers(struct readers *readers, uid_t uid, int fd,
		   struct elf_headers *out, char why[READER_WHY_BYTES]);
/* What elf_read_debug() finds. Short. */
int reader_debug(struct readers *readers, uid_t uid, int fd,
		 struct elf_debug *out, char why[READER_WHY_BYTES]);

/* Where the .symtab of a file is, if not in itself. */
struct reader_symtab {
	int fd; /* of another file; -1: not there */
	uint64_t mini_offset, mini_bytes; /* packed in the file itself
					   * (elf_debug); 0 bytes: not there */
};

/* What elf_read_functions() finds in the file @fd and in @symtab. The caller
 * frees out->list and out->strings. */
int reader_functions(struct readers *readers, uid_t uid, int fd,
		     const struct reader_symtab *symtab,
		     struct elf_functions *out, char why[READER_WHY_BYTES]);
/* What elf_bounds_read() finds. The caller frees out->list. */
int reader_bounds(struct readers *readers, uid_t uid, int fd,
		  struct elf_bounds *out, char why[READER_WHY_BYTES]);
/* The checksum of .gnu_debuglink over the whole file (crc32). */
int reader_checksum(struct readers *readers, uid_t uid, int fd, uint32_t *out,
		    char why[READER_WHY_BYTES]);
/* Copies up to @bytes (at most READER_BYTES_MAX) at @offset of the file to
 * @out. *@got is how many there are: fewer at the end of the file. Short. */
int reader_bytes(struct readers *readers, uid_t uid, int fd, uint64_t offset,
		 size_t bytes, void *out, size_t *got,
		 char why[READER_WHY_BYTES]);

#endif
