/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - the load map of one process: which file lies at which address, and
 * so how the function at an address is called. Files are opened when they are
 * first seen, since a short program has ended before anybody asks for a name.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MODULES_H
#define PERFREC_COLLECTOR_NAMES_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct map_log;
struct site;
struct sites;
struct modules; /* reference counted; every call is safe from any thread */
struct symbol_file;
struct symbol_cache; /* symbols.h: shared by all processes of a collector */

/*
 * The load map of process @pid: what /proc/@pid/maps says now, and what @log
 * (NULL: there is none) will say later of @inner_pid, the inner id of the
 * process. Every file is opened at once, through /proc/PID/root or map_files,
 * so that containers and deleted files work; but if the kernel would have to
 * ask a file system, none is: modules_are_behind(). Never waits. Symbol tables
 * are read when they are first needed. If the map may not be read, a message
 * says so, and only the log gives names. @cache must outlive the result.
 * Returns 0, or -errno: there is no such process. After 0 the caller holds one
 * reference.
 */
int modules_new(pid_t pid, pid_t inner_pid, struct map_log *log,
		struct symbol_cache *cache, struct modules **out);
/* Whether nothing is known of @modules until modules_refresh() is called, which
 * may wait for file systems. */
bool modules_are_behind(struct modules *modules);
/* A second reference to @modules. */
struct modules *modules_get(struct modules *modules);
/* Gives one reference back and clears *@modules. */
void modules_put(struct modules **modules);
/*
 * The load map of process @pid, which the process of @parent has forked.
 * @claimed is the generation of the load map in which the child claimed its
 * first slot. Opens no file. Returns 0 or -errno; after 0 the caller holds one
 * reference.
 */
int modules_fork(struct modules *parent, pid_t pid, pid_t inner_pid,
		 uint32_t claimed, struct modules **out);
/* From now on addresses below SITES_MAX mean these @sites, to which it takes a
 * reference. Call it once, before another thread asks for an address. Children
 * that the process forks have the same sites. */
void modules_set_sites(struct modules *modules, struct sites *sites);
/* Takes in what the map log says, and opens the files at once. Cheap when the
 * log says nothing new. */
void modules_follow(struct modules *modules);
/*
 * Reads the log, and then the map again, for files that the log does not tell.
 * A file that is known is not opened again. Returns 0, or -errno, and then what
 * was known stays. -ENOENT, -ESRCH: the process has ended, or runs another
 * program since an exec. -EAGAIN: it loads and unloads all the time.
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
 * Says in *@out what was at @address in @generation of the process' load map
 * (the map log in shared/ring_shm.h). @address is the entry of a function, as
 * hooks get it; in a program that is not PIE it may be the function's PLT
 * entry.
 *   - If @address is in no module that is known, the map is read again, as
 *     long as that takes less than a tenth of the time. If it still is in none,
 *     its name is "0xADDRESS".
 *   - A thunk of perfrec's own is "[perfrec]".
 *   - Code that the program has made has the name that its perf map or jitdump
 *     says, or else "[JIT]". Its module is "[JIT]".
 * Logs why a file has no names, once for each file. May read files: not for
 * drain threads.
 */
void modules_resolve(struct modules *modules, uint64_t address,
		     uint32_t generation, struct symbol *out);

/* The same without reading a file or the log: false, if that would be
 * necessary, or if nothing is known of @address. For drain workers, and any
 * other thread. */
bool modules_resolve_read(struct modules *modules, uint64_t address,
			  uint32_t generation, struct symbol *out);
/* Reads the symbol tables of all files that the log tells, and of those that
 * were known before. */
void modules_read_tables(struct modules *modules);

/* A module in the address space of a process. */
struct module_place {
	uint64_t start, end; /* of the mapping */
	uint64_t file_offset; /* of start */
	uint64_t bias; /* what is added to virtual addresses of the file */
	struct symbol_file *file; /* a reference; NULL: there is no access */
	bool is_thunks; /* it is a thunk area (function_shm.h) */
};

/* Where the module lies that @address was in, in @generation, into *@out.
 * False: none is known, though the map was read again as modules_resolve()
 * does. The caller gives out->file back by symbol_file_put(). */
bool modules_place(struct modules *modules, uint64_t address,
		   uint32_t generation, struct module_place *out);

enum module_owner {
	MODULE_PROGRAM, /* or nobody knows whose */
	MODULE_LIBRARY, /* perfrec's, in the program, or what calls a hook from
			 * the program's PLT */
	MODULE_THUNKS, /* perfrec's, too (function_shm.h) */
};

/* Whose the code was that lay at @address in @generation. As modules_place(),
 * may read the map, and the symbol tables of a file with hooks. */
enum module_owner modules_owner(struct modules *modules, uint64_t address,
				uint32_t generation);

/*
 * Calls @visit for the entry address of every function of every module, with
 * its demangled name and the path of its module. Stops when @visit returns
 * non-zero, and returns that. Returns 0 after the last function, or -ENOMEM.
 * @name is valid during the call only, @module as long as the symbol cache. For
 * --filter and --exclude. May read files.
 */
typedef int modules_visit(void *context, uint64_t address, const char *name,
			  const char *module);
int modules_each_function(struct modules *modules, modules_visit *visit,
			  void *context);

/* A file that is mapped to execute. */
struct module_file {
	uint64_t start, end; /* of the mapping */
	uint64_t bias; /* what is added to virtual addresses of the file */
	const char *path; /* as the process sees it, the symbol cache's */
	struct symbol_file *file; /* a reference */
};

/* All files that are mapped now, as far as the map and the log tell, in
 * *@out: modules_files_free() ends it. A file may be there more than once.
 * Returns how many; 0: none, or no memory. May read headers of files. */
size_t modules_files(struct modules *modules, struct module_file **out);
void modules_files_free(struct module_file **files, size_t count);

/* How many files have no names because reading them took too long. Reads none.
 */
size_t modules_late_files(struct modules *modules);

/* True when some loaded file refers to __cyg_profile_func_enter, other than
 * libperfrec_preload itself and the C library. May read files. */
bool modules_instrumented(struct modules *modules);

#endif
