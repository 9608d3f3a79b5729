/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols - the names of the functions of ELF files. A file is read once, and
 * kept for every process that maps it. Input is hostile: a file may be
 * anything. So a process of its own reads it (reader.h). Any thread may call
 * these functions; those that read a file say so, and wait for that process.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLS_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/source.h"

struct elf_functions;
struct readers;
struct symbol_cache; /* owns every name given out; reference counted */
struct symbol_file; /* one ELF file, by user, device, inode, size, mtime, as one
		     * cache uses it */

/* What one cache may take, in bytes: names and source lines, of which half are
 * those that programs told; and what was read of files. */
#define SYMBOL_NAMES_MAX (256ull << 20)
#define SYMBOL_TABLES_MAX (512ull << 20)

/* 0 or -ENOMEM. The caller has one reference of *@out. */
int symbol_cache_new(struct symbol_cache **out);
/* A cache with limits of its own, for one more recording. It shares with
 * @sibling what is read of files, but for names: a file that both use counts
 * for both. @what is what messages call the one that reaches a limit; it is
 * copied. 0 or -ENOMEM. */
int symbol_cache_share(struct symbol_cache *sibling, const char *what,
		       struct symbol_cache **out);
/* A second reference to @cache. */
struct symbol_cache *symbol_cache_get(struct symbol_cache *cache);
/* Gives one reference back, and clears *@cache, which may be NULL. The last one
 * frees all names: nobody may use a string or file of it any more. Files that
 * were read stay for siblings, within a limit. */
void symbol_cache_put(struct symbol_cache **cache);

/*
 * The file behind @fd, which a program of user @uid has mapped, and which
 * messages call @path. @fd may be O_PATH; it stays
 * the caller's, and may be closed after the call. Returns NULL only when there
 * is no memory. A bad file has no symbols, and symbol_file_error() says why.
 *
 * A file is read when something of it is first needed, from a descriptor that
 * the cache keeps. All siblings keep as many descriptors as half of
 * RLIMIT_NOFILE was when the first was made. Files beyond that are read at
 * once, and opened again by
 * @path when they are needed again.
 *
 * The caller holds one reference, and by it one to @cache.
 */
struct symbol_file *symbol_cache_file(struct symbol_cache *cache, uid_t uid,
				      int fd, const char *path);
/* The processes that read the files; of all siblings. */
struct readers *symbol_cache_readers(struct symbol_cache *cache);
/*
 * The paths of @file begin at @root_fd: the root folder of a process that maps
 * it. Debug files are looked for there and in our own root, and nowhere else;
 * so is @file itself when it has to be opened again. @root_fd stays the
 * caller's. The call is optional; only the first one for a file counts.
 */
void symbol_file_set_root(struct symbol_file *file, int root_fd);
/* Whether both are the same file, whichever caches they are of. */
bool symbol_file_is_same(const struct symbol_file *one,
			 const struct symbol_file *other);
/* A second reference to @file, which it returns; NULL is passed on. */
struct symbol_file *symbol_file_get(struct symbol_file *file);
/* A reference for whoever serves all siblings, and may outlive the cache of
 * @file: the same result for all of them while it is held. It has no names and
 * no tables; all that is below "may read the file's headers" can be had, and
 * symbol_file_read(), _size(), _descriptor() and _functions(). NULL: no memory.
 */
struct symbol_file *symbol_file_get_common(struct symbol_file *file);
/*
 * Gives one reference back and clears *@file, which may be NULL. What was read
 * of the file stays for the next process, until the cache needs the room. Names
 * that were given out live as long as the cache.
 */
void symbol_file_put(struct symbol_file **file);

/* Says that the caller got no descriptor for a file: the limit is too low. */
void symbol_cache_note_lack(struct symbol_cache *cache);
/* Whether there was no descriptor for some file. The first time that this is
 * true, it logs so, and what to do about it. Call it before you complain that a
 * file is missing. */
bool symbol_cache_tell_lack(struct symbol_cache *cache);

/* A copy of @text that lives as long as the cache, the same one for the same
 * text. NULL when the cache is full. */
const char *symbol_cache_string(struct symbol_cache *cache, const char *text);
/* The same for a text that a program told of itself. NULL also when the cache
 * is half full: programs that make names up leave the other half to the names
 * in symbol tables. */
const char *symbol_cache_told_string(struct symbol_cache *cache,
				     const char *text);

/* Counts @bytes of memory of the caller's to those that the tables of files
 * take. False: there is no room, and nothing was counted. */
bool symbol_cache_take(struct symbol_cache *cache, uint64_t bytes);
/* Takes @bytes off again. */
void symbol_cache_give_back(struct symbol_cache *cache, uint64_t bytes);

/* What a cache takes, in bytes, and how often it had no room. */
struct symbol_cache_use {
	uint64_t names; /* and source lines */
	uint64_t tables; /* what was read of files, and takes */
	uint64_t unkept_names; /* each time that it was asked for one */
	uint64_t unkept_tables; /* files whose tables it does not have */
	uint64_t names_full_ns, tables_full_ns; /* when that was first, of
						 * BOOTTIME; 0: never */
};

/* What @cache takes now. */
struct symbol_cache_use symbol_cache_use(struct symbol_cache *cache);
/* What all siblings of @cache and itself take; files that several use, and
 * those that none uses any more, count once. */
struct symbol_cache_use symbol_cache_use_all(struct symbol_cache *cache);

/* Each of these may read the file's headers. */
/* One line that names the file and what is wrong with it, or NULL; valid as
 * long as the caller's reference. */
const char *symbol_file_error(struct symbol_file *file);
/* The same, but each error only once: for whoever logs it. */
const char *symbol_file_new_error(struct symbol_file *file);
/* Reads the symbol tables, if they were not read yet. */
void symbol_file_read_tables(struct symbol_file *file);
/* Whether there is nothing left to read for symbol_file_lookup(). Reads
 * nothing, and never waits. */
bool symbol_file_is_read(const struct symbol_file *file);
/* True when a read of the file took too long, and so it has no names. Reads
 * nothing. */
bool symbol_file_is_late(struct symbol_file *file);
/* True when it is no ELF file of this kind of machine: it may have code all the
 * same, as images of Lisps, DLLs and what a JIT has written have. */
bool symbol_file_is_foreign(struct symbol_file *file);
/* Lower case hex, or ""; lives as long as the cache, or the reference that
 * symbol_file_get_common() has given. */
const char *symbol_file_build_id(struct symbol_file *file);
/* True when it has an undefined __cyg_profile_func_enter. */
bool symbol_file_instrumented(struct symbol_file *file);
/* True when DT_NEEDED names libasan.so.N: *@soname is then that name, valid as
 * long as the caller's reference. */
bool symbol_file_needs_asan(struct symbol_file *file, const char **soname);
/* The virtual address of the byte at @file_offset, by the program headers, into
 * *@vaddr. @file_offset may be rounded down to a page, as it is in mappings. If
 * two segments hold it, the executable one counts. False: no segment holds it.
 */
bool symbol_file_vaddr(struct symbol_file *file, uint64_t file_offset,
		       uint64_t *vaddr);

/* These may read the file's symbol tables (a browser's: 1 s), or those of its
 * separate debug file (debug_file.h) when it was stripped. */
/*
 * The function that covers virtual address @vaddr of the file (as in its
 * program headers, the load bias taken off). Returns its demangled name
 * (symbol_name.h), which lives as long as the cache, or NULL. *@start is its
 * entry.
 */
const char *symbol_file_lookup(struct symbol_file *file, uint64_t vaddr,
			       uint64_t *start);
/* Whether the unwind tables of the file know a function that covers @vaddr.
 * *@start is then its first address. For functions that have no name. */
bool symbol_file_bounds(struct symbol_file *file, uint64_t vaddr,
			uint64_t *start);
/*
 * Where each of the @count addresses @vaddr comes from, into @out, in the same
 * order; by the debug information of the file, or that of its separate debug
 * file. @vaddr may be in any order. The results live as long as the caller's
 * reference. Starts a process for what is not known yet,
 * as debug information is huge and hostile, and waits for it: call it on the
 * jobs thread. Never fails: what cannot be found has count 0, and the log says
 * why, once a file.
 */
void symbol_file_sources(struct symbol_file *file, const uint64_t *vaddr,
			 size_t count, struct source *out);

/* Copies up to @bytes (at most 65,536) at @offset of @file to @out. *@got is
 * how many there are: fewer at the end of the file. 0 or -errno; -ETIMEDOUT:
 * after some seconds. */
int symbol_file_read(struct symbol_file *file, uint64_t offset, size_t bytes,
		     void *out, size_t *got);
/* Its size in bytes, as it was when it was first seen. Reads nothing. */
uint64_t symbol_file_size(const struct symbol_file *file);
/* A descriptor of @file, which is the caller's, and may be O_PATH: reader.h can
 * read from it. -1: there is none any more. Reads nothing. */
int symbol_file_descriptor(struct symbol_file *file);

/* The functions in the symbol tables of the file behind @fd, a descriptor of
 * @file, without those of its debug file, into *@out, as elf_read_functions()
 * does. Nothing of it is kept. 0 or -errno. */
int symbol_file_functions(struct symbol_file *file, int fd,
			  struct elf_functions *out);

/* Calls @visit for every function, by address, until it returns non-zero.
 * Returns what @visit returned last, or 0. @name is valid during the call only.
 */
typedef int symbol_visit(void *context, uint64_t vaddr, const char *name);
int symbol_file_each(struct symbol_file *file, symbol_visit *visit,
		     void *context);

#endif
