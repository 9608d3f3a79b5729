/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols - function names of one ELF file, read once and kept for every
 * process that maps it. Input is hostile: a file is whatever its path says.
 * Every call is safe from any thread; those that read a file say so.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLS_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/names/source.h"

struct symbol_cache; /* owns files and every name given out */
struct symbol_file; /* one ELF file, by device, inode, size and mtime */

/* 0 or -ENOMEM. */
int symbol_cache_new(struct symbol_cache **out);
/* Only when nobody uses a file or a string of it any more. */
void symbol_cache_free(struct symbol_cache **cache);

/*
 * The file behind @fd (which may be O_PATH, stays the caller's and may be
 * closed after), called @path in messages. Never fails for a bad file: it
 * then has no symbols, and symbol_file_error() says why. NULL only when out
 * of memory. Reading happens on first use, from a descriptor the cache keeps
 * (half of RLIMIT_NOFILE as it was when the cache was made; what is beyond is
 * read at once, and opened again by @path when it is needed again). The caller
 * holds one reference; who needs the file as long as the cache may keep it for
 * good.
 */
struct symbol_file *symbol_cache_file(struct symbol_cache *cache, int fd,
				      const char *path);
/*
 * Where paths of @file begin: in the root folder @root_fd of a process that
 * maps it. Only there and in our own root are debug files looked for, and
 * @file itself when it has to be opened again. @root_fd
 * stays the caller's. Optional; the first call counts.
 */
void symbol_file_set_root(struct symbol_file *file, int root_fd);
/* A second reference to @file, which it returns; NULL is passed on. */
struct symbol_file *symbol_file_get(struct symbol_file *file);
/*
 * Gives one reference back and clears *@file. What was read of a file stays
 * for the next process until the cache needs the room; names it gave out
 * stay valid as long as the cache.
 */
void symbol_file_put(struct symbol_file **file);

/* Somebody found no descriptor for a file: the limit is too low. */
void symbol_cache_note_lack(struct symbol_cache *cache);
/* True when there was no descriptor for some file. The first call then says
 * so, and what to do: whoever misses a file asks before it complains of that
 * file. */
bool symbol_cache_tell_lack(struct symbol_cache *cache);

/* A copy of @text that lives as long as the cache, the same one for the same
 * text. NULL when the cache is full. */
const char *symbol_cache_string(struct symbol_cache *cache, const char *text);

/* Account for @bytes that the caller keeps with the tables of files, whose
 * limit is one. False: there is no room. */
bool symbol_cache_take(struct symbol_cache *cache, uint64_t bytes);
void symbol_cache_give_back(struct symbol_cache *cache, uint64_t bytes);

/* How many bytes all names and source lines take. */
uint64_t symbol_cache_bytes(struct symbol_cache *cache);

/* Each of these may read the file's headers. */
/* One line that names the file and what is wrong with it, or NULL; valid as
 * long as the caller's reference. */
const char *symbol_file_error(struct symbol_file *file);
/* The same, but each error only once: for whoever logs it. */
const char *symbol_file_new_error(struct symbol_file *file);
/* True when it is no ELF file of this kind of machine: it may have code all the
 * same, as images of Lisps, DLLs and what a JIT has written have. */
bool symbol_file_is_foreign(struct symbol_file *file);
/* Lower case hex, or ""; lives as long as the cache. */
const char *symbol_file_build_id(struct symbol_file *file);
/* True when it has an undefined __cyg_profile_func_enter. */
bool symbol_file_instrumented(struct symbol_file *file);
/* True when DT_NEEDED names libasan.so.N: *@soname is then that name, valid as
 * long as the caller's reference. */
bool symbol_file_needs_asan(struct symbol_file *file, const char **soname);
/* Translate a file offset, rounded down to a page as mappings have it, to a
 * virtual address by the program headers; executable segments go first.
 * False when no segment holds it. */
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
/* True when the unwind tables of the file know the function that covers @vaddr:
 * *@start is then where that begins. For those that have no name. */
bool symbol_file_bounds(struct symbol_file *file, uint64_t vaddr,
			uint64_t *start);
/*
 * Where each of the @count addresses @vaddr comes from, into @out, in the same
 * order; by the debug information of the file, or that of its separate debug
 * file. @vaddr may be in any order. Starts a process for what is not known yet,
 * as debug information is huge and hostile, and waits for it: call it on the
 * jobs thread. Never fails: what cannot be found has count 0, and the log says
 * why, once a file.
 */
void symbol_file_sources(struct symbol_file *file, const uint64_t *vaddr,
			 size_t count, struct source *out);

/* A descriptor of @file to read from, which is the caller's; -1: there is none
 * any more, or it cannot be read. Reads nothing. */
int symbol_file_descriptor(struct symbol_file *file);

/* Call @visit for every function, by address, until it returns non-zero,
 * which is then returned. @name is only valid during the call. */
typedef int symbol_visit(void *context, uint64_t vaddr, const char *name);
int symbol_file_each(struct symbol_file *file, symbol_visit *visit,
		     void *context);

#endif
