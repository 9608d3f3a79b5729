/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - the load map of one process: which file lies where, and so what
 * the address of a function is called. Files are opened when they are first
 * seen, since a short program is gone before anybody asks for a name.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MODULES_H
#define PERFREC_COLLECTOR_NAMES_MODULES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct map_log;
struct site;
struct sites;
struct modules; /* reference counted; every call is safe from any thread */
struct symbol_file;
struct symbol_cache; /* symbols.h: shared by all processes of a collector */

/*
 * The load map of process @pid as /proc/@pid/maps has it now, and as @log
 * (NULL: there is none) will tell of @inner_pid, which is what the process
 * calls itself. Every file is opened at once (through /proc/PID/root or
 * map_files, so that containers and deleted files work); symbol tables are
 * read when first needed. When the map may not be read, which is said, there
 * are no names but those that the log tells. @cache must outlive the result.
 * Returns 0, or -errno: there is no such process. On success the caller holds
 * one reference.
 */
int modules_new(pid_t pid, pid_t inner_pid, struct map_log *log,
		struct symbol_cache *cache, struct modules **out);
/* A second reference to @modules. */
struct modules *modules_get(struct modules *modules);
/* Gives one reference back and clears *@modules. */
void modules_put(struct modules **modules);
/*
 * What a child @pid has that was forked by @parent's process. @claimed is the
 * generation of the load map in which it claimed its first slot. Opens
 * nothing.
 */
int modules_fork(struct modules *parent, pid_t pid, pid_t inner_pid,
		 uint32_t claimed, struct modules **out);
/* What addresses below SITES_MAX are: takes a reference. Once, before
 * another thread asks for one; the children that fork have the same. */
void modules_set_sites(struct modules *modules, struct sites *sites);
/* Take in what the map log says, and open the files at once. Cheap when that
 * is nothing new; else it reads files. */
void modules_follow(struct modules *modules);
/*
 * Read the log, and the map again for what is not told there. 0 or -errno
 * (-ENOENT, -ESRCH: the process is gone, or runs another program since an
 * exec; -EAGAIN: it loads and unloads all the time): what was known stays.
 * A file that is known is not opened again.
 */
int modules_refresh(struct modules *modules);

/* What an address is. The strings live as long as the symbol cache. */
struct symbol {
	const char *name; /* demangled; "module+0xoffset" when there is none;
			   * never empty; valid UTF-8 */
	const char *module; /* path as the process sees it; "[unknown]" */
	const char *build_id; /* lower case hex, or "" */
	uint64_t offset; /* virtual address in the module's file, as nm and
			  * addr2line have it */
	bool found; /* a symbol table knew it */
	bool is_jit; /* it is code that the program has made; module is "[JIT]"
		      */
	const struct site *site; /* it is no function, but the site of an
				  * annotation; as long as @modules; or NULL */
};

/*
 * Resolve what was at @address in @generation of the process' load map (see
 * the map log in shared/ring_shm.h): the function with that entry, as the
 * hooks get it; for a non-PIE program also the address of its PLT entry. An
 * address in no known module makes it re-read the map, as long as that takes
 * less than a tenth of the time; its name is then "0xADDRESS". Code that the
 * program has made is called as it says in its perf map or jitdump, or "[JIT]",
 * which is its module, too. Logs, once for a
 * file, why it has no names. May read files: not for drain threads.
 */
void modules_resolve(struct modules *modules, uint64_t address,
		     uint32_t generation, struct symbol *out);

/* A module in the address space of a process. */
struct module_place {
	uint64_t start, end; /* of the mapping */
	uint64_t file_offset; /* of start */
	uint64_t bias; /* what is added to virtual addresses of the file */
	struct symbol_file *file; /* a reference; NULL: there is no access */
};

/* Where the module lies that @address was in, in @generation; false when none
 * is known, though the map was read again as for a name. The caller puts the
 * file. */
bool modules_place(struct modules *modules, uint64_t address,
		   uint32_t generation, struct module_place *out);

/*
 * Call @visit for the entry address of every function of every module, with
 * its demangled name and its module path; stops at the first non-zero
 * return, which it returns, or -ENOMEM. @name is only valid during the call,
 * @module as long as the symbol cache. May read files. For resolving --filter
 * and --exclude.
 */
typedef int modules_visit(void *context, uint64_t address, const char *name,
			  const char *module);
int modules_each_function(struct modules *modules, modules_visit *visit,
			  void *context);

/* True when some loaded file refers to __cyg_profile_func_enter, other than
 * libperfrec_preload itself and the C library. May read files. */
bool modules_instrumented(struct modules *modules);

#endif
