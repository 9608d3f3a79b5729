/* SPDX-License-Identifier: Apache-2.0
 *
 * reader - reads files named by programs in separate, confined processes
 * (perfrec-reader), since such a file may be hostile or block forever.
 * perfrec-reader can open nothing. A process that exceeds a limit of memory,
 * CPU time or time is killed; only the file it was reading then has no names.
 *
 * A process serves one user, so a hostile file harms no other user. Any thread;
 * each call has its own process and waits READER_SECONDS_SHORT ("Short.") or
 * READER_SECONDS at most.
 *
 * Calls return 0, or -errno with a reason in @why and *@out unchanged.
 * -ENOEXEC: no ELF file of this machine. -ETIMEDOUT: a limit was exceeded.
 * Descriptors stay the caller's and may be O_PATH. Files on local disks are
 * opened here, others by an opener (opener.h).
 */
#ifndef PERFREC_COLLECTOR_NAMES_READER_H
#define PERFREC_COLLECTOR_NAMES_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/elf_assembly.h"
#include "collector/names/elf_bounds.h"
#include "collector/names/elf_read.h"

#define READER_SECONDS_SHORT 5
#define READER_SECONDS 30
#define READER_WHY_BYTES 160

struct openers;
struct readers;

struct readers_stats { /* totals, except idle */
	uint64_t started, killed; /* killed: for a limit */
	uint32_t busy, idle; /* processes, now */
};

/* Starts no process yet. Returns 0 or -ENOMEM. */
int readers_new(struct readers **out);
/* No call may be running. */
void readers_free(struct readers **readers);
void readers_rest(struct readers *readers);
/* Idle since before @before_ns (CLOCK_MONOTONIC). Never waits. */
void readers_tire(struct readers *readers, uint64_t before_ns);
void readers_stats(struct readers *readers, struct readers_stats *out);
/* The result belongs to @readers. */
struct openers *readers_openers(struct readers *readers);

/* As elf_read_headers(). The caller frees out->segments. Short. */
int reader_headers(struct readers *readers, uid_t uid, int fd,
		   struct elf_headers *out, char why[READER_WHY_BYTES]);
/* As elf_read_debug(). Short. */
int reader_debug(struct readers *readers, uid_t uid, int fd,
		 struct elf_debug *out, char why[READER_WHY_BYTES]);

/* Location of a .symtab outside of its file. */
struct reader_symtab {
	int fd; /* another file; -1: none */
	uint64_t mini_offset, mini_bytes; /* .gnu_debugdata; 0 bytes: none */
};

/* As elf_read_functions(). The caller frees out->list and out->strings. */
int reader_functions(struct readers *readers, uid_t uid, int fd,
		     const struct reader_symtab *symtab,
		     struct elf_functions *out, char why[READER_WHY_BYTES]);
/* The same as elf_read_objects(). */
int reader_objects(struct readers *readers, uid_t uid, int fd,
		   const struct reader_symtab *symtab,
		   struct elf_functions *out, char why[READER_WHY_BYTES]);
/* As elf_bounds_read(). The caller frees out->list. */
int reader_bounds(struct readers *readers, uid_t uid, int fd,
		  struct elf_bounds *out, char why[READER_WHY_BYTES]);
/* Returns the crc32 of the file, as in .gnu_debuglink. */
int reader_checksum(struct readers *readers, uid_t uid, int fd, uint32_t *out,
		    char why[READER_WHY_BYTES]);
/* *@got is less than @bytes (READER_BYTES_MAX) only at the end. Short. */
int reader_bytes(struct readers *readers, uid_t uid, int fd, uint64_t offset,
		 size_t bytes, void *out, size_t *got,
		 char why[READER_WHY_BYTES]);
/* As elf_assembly_make() for the @bytes at @offset, which have the virtual
 * address @vaddr; fewer at the end of the file. The caller frees out->list and
 * out->strings. Short. */
int reader_assembly(struct readers *readers, uid_t uid, int fd, uint64_t offset,
		    size_t bytes, uint64_t vaddr, struct elf_assembly *out,
		    char why[READER_WHY_BYTES]);

#endif
