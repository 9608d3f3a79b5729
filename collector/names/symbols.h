/* SPDX-License-Identifier: Apache-2.0
 *
 * symbols - names of functions in ELF files. A file is read once for all
 * processes that map it. Files are hostile, so a separate process reads them
 * (reader.h). Any thread; functions that read a file say so, and wait.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLS_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/source.h"
#include "collector/names/symbolize.h"

struct elf_assembly;
struct elf_functions;
struct readers;
struct symbol_cache; /* owns all names it returned; reference counted */
struct symbol_file; /* by user, device, inode, size and mtime */

/* Limits of a cache in bytes: names and source lines, half of them for texts
 * from programs; and data read from files. */
#define SYMBOL_NAMES_MAX (256ull << 20)
#define SYMBOL_TABLES_MAX (512ull << 20)

/* Returns 0 or -ENOMEM. The caller has one reference. */
int symbol_cache_new(struct symbol_cache **out);
/* Creates a cache with its own limits for another recording. It shares file
 * data with @sibling, but not names; shared files count in both. Messages call
 * it @what, which is copied. Returns 0 or -ENOMEM. */
int symbol_cache_share(struct symbol_cache *sibling, const char *what,
		       struct symbol_cache **out);
struct symbol_cache *symbol_cache_get(struct symbol_cache *cache);
/* Drops a reference; *@cache may be NULL. The last one frees all names: no
 * string or file may be used afterwards. File data stays for siblings, within a
 * limit. */
void symbol_cache_put(struct symbol_cache **cache);

/*
 * Finds or adds the file behind @fd, which a program of user @uid has mapped
 * and messages call @path. @fd may be O_PATH and stays the caller's. Returns a
 * reference, which also holds @cache; NULL: out of memory. A bad file has no
 * symbols: symbol_file_error().
 *
 * The file is read on first use, from a descriptor that the cache keeps.
 * Siblings keep up to half of RLIMIT_NOFILE descriptors together. Other files
 * are read at once, and opened again by @path if necessary.
 */
struct symbol_file *symbol_cache_file(struct symbol_cache *cache, uid_t uid,
				      int fd, const char *path);
/* For reading; shared by all siblings. */
struct readers *symbol_cache_readers(struct symbol_cache *cache);
/* Optional: the root of a process that maps @file. Paths start there; debug
 * files are searched there and in our own root. Only the first call per file
 * counts. @root_fd stays the caller's. */
void symbol_file_set_root(struct symbol_file *file, int root_fd);
bool symbol_file_is_same(const struct symbol_file *one,
			 const struct symbol_file *other);
/* Takes another reference. @file may be NULL. */
struct symbol_file *symbol_file_get(struct symbol_file *file);
/* Returns a reference that serves all siblings and may outlive the cache of
 * @file. Equal files give the same result. It has no names and no tables: only
 * headers, symbol_file_read(), _size(), _descriptor() and _functions() work.
 * Returns NULL if out of memory. */
struct symbol_file *symbol_file_get_common(struct symbol_file *file);
/* Drops a reference; *@file may be NULL. File data stays until the cache needs
 * room; names stay until the cache is freed. */
void symbol_file_put(struct symbol_file **file);

void symbol_cache_note_lack(struct symbol_cache *cache);
/* Returns true if a file ever lacked a descriptor, and logs that once. */
bool symbol_cache_tell_lack(struct symbol_cache *cache);

/* Interns @text until the cache is freed. Returns NULL if the cache is full. */
const char *symbol_cache_string(struct symbol_cache *cache, const char *text);
/* As symbol_cache_string() for texts from programs. Also NULL if the cache is
 * half full, which leaves room for symbol tables. */
const char *symbol_cache_told_string(struct symbol_cache *cache,
				     const char *text);

/* Charges the caller's memory. Returns false if there is no room. */
bool symbol_cache_take(struct symbol_cache *cache, uint64_t bytes);
void symbol_cache_give_back(struct symbol_cache *cache, uint64_t bytes);

struct symbol_cache_use {
	uint64_t names; /* and source lines */
	uint64_t tables;
	uint64_t unkept_names;
	uint64_t unkept_tables; /* files without tables */
	uint64_t names_full_ns, tables_full_ns; /* first time; 0: never */
};

struct symbol_cache_use symbol_cache_use(struct symbol_cache *cache);
/* Sums over all siblings. Shared and idle files count once. */
struct symbol_cache_use symbol_cache_use_all(struct symbol_cache *cache);

/* These may read headers. */
/* Returns the error as one line, valid while @file is held, or NULL. */
const char *symbol_file_error(struct symbol_file *file);
/* As symbol_file_error(), but each error once, for logging. */
const char *symbol_file_new_error(struct symbol_file *file);
void symbol_file_read_tables(struct symbol_file *file);
/* Returns true if symbol_file_lookup() has nothing to read. Never waits. */
bool symbol_file_is_read(const struct symbol_file *file);
/* Returns true if a read took too long, so names are missing. Reads nothing. */
bool symbol_file_is_late(struct symbol_file *file);
/* Returns true for files that are not ELF of this machine but may have code:
 * Lisp images, DLLs, JIT output. */
bool symbol_file_is_foreign(struct symbol_file *file);
/* Returns lower case hex, or "". Valid while the cache or @file is held. */
const char *symbol_file_build_id(struct symbol_file *file);
bool symbol_file_instrumented(struct symbol_file *file);
/* Converts @file_offset, which may be rounded down to a page, by the program
 * headers. Executable segments win. Returns false outside of segments. */
bool symbol_file_vaddr(struct symbol_file *file, uint64_t file_offset,
		       uint64_t *vaddr);

/* Returns true if a segment of @file in memory, with its .bss, has @vaddr. */
bool symbol_file_covers(struct symbol_file *file, uint64_t vaddr);

/* These may read symbol tables (1 s for a browser), or those of the debug file
 * (debug_file.h). */
/* Returns the demangled name (symbol_name.h) of the function that covers
 * @vaddr, valid until the cache is freed, or NULL. *@start is its entry. */
const char *symbol_file_lookup(struct symbol_file *file, uint64_t vaddr,
			       uint64_t *start);
/* The same for the variable that covers @vaddr. */
const char *symbol_file_object(struct symbol_file *file, uint64_t vaddr,
			       uint64_t *start);
/* Finds the start of the function at @vaddr in the unwind tables. */
bool symbol_file_bounds(struct symbol_file *file, uint64_t vaddr,
			uint64_t *start);
/* Finds the addresses [*@start, *@end) of the function at @vaddr, by its symbol,
 * or by the unwind tables without one. */
bool symbol_file_range(struct symbol_file *file, uint64_t vaddr,
		       uint64_t *start, uint64_t *end);
/* Finds source lines by the debug information of the file or its debug file.
 * Results are valid while the caller's reference is. Starts a process for new
 * addresses and waits, so call it on the jobs thread. Unknown lines have count
 * 0; the reason is logged once per file. Returns true if the results are final:
 * another call would have the same. */
bool symbol_file_sources(struct symbol_file *file, const uint64_t *vaddr,
			 size_t count, struct source *out);

/* Finds the arguments of the functions that start at the @count addresses
 * @vaddr, which are sorted and unique, by the same debug information, and calls
 * @visit for each, as symbolize_calls(). Starts a process and waits for it, some
 * seconds at most. Returns 0, or -errno with a line in @why. */
int symbol_file_calls(struct symbol_file *file, const uint64_t *vaddr,
		      size_t count, symbolize_visit_call *visit, void *context,
		      char why[SYMBOLIZE_WHY_BYTES]);

/* Copies up to @bytes (65,536) at @offset. *@got is less only at the end of the
 * file. Returns 0 or -errno; -ETIMEDOUT after some seconds. */
int symbol_file_read(struct symbol_file *file, uint64_t offset, size_t bytes,
		     void *out, size_t *got);
/* Disassembles the range [@start, @end) of virtual addresses as far as one
 * executable segment has it, ELF_ASSEMBLY_BYTES_MAX at most. The caller frees
 * out->list and out->strings. Returns 0, or -errno with a line in @why; -ENODATA:
 * @start is not in the code of the file. */
int symbol_file_assembly(struct symbol_file *file, uint64_t start, uint64_t end,
			 struct elf_assembly *out,
			 char why[SYMBOLIZE_WHY_BYTES]);
/* Returns the size when the file was first seen. Reads nothing. */
uint64_t symbol_file_size(const struct symbol_file *file);
/* Returns a descriptor for reader.h, which may be O_PATH; or -1. */
int symbol_file_descriptor(struct symbol_file *file);

/* As elf_read_functions() for @fd, a descriptor of @file, without its debug
 * file. Keeps nothing. Returns 0 or -errno. */
int symbol_file_functions(struct symbol_file *file, int fd,
			  struct elf_functions *out);

/* Stops when @visit returns non-zero, and returns that. @name is valid during
 * the call. */
typedef int symbol_visit(void *context, uint64_t vaddr, const char *name);
int symbol_file_each(struct symbol_file *file, symbol_visit *visit,
		     void *context);

#endif
