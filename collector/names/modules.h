/* SPDX-License-Identifier: Apache-2.0
 *
 * modules - the load map of a process: the file and the function at each
 * address. Files are opened when they are first seen, since short programs end
 * before anyone needs a name.
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
struct modules; /* reference counted; any thread */
struct symbol_file;
struct symbol_cache;

/*
 * Creates the load map of process @pid from /proc/@pid/maps. @log (may be NULL)
 * adds later changes of the inner id @inner_pid. Opens every file at once,
 * through /proc/PID/root or map_files, so containers and deleted files work.
 * Never waits: if a file system would be asked, no file is opened
 * (modules_are_behind()). Symbol tables are read on first use. Logs an
 * unreadable map; then only the log gives names. @cache must outlive the
 * result. Returns 0 with one reference, or -errno: no such process.
 */
int modules_new(pid_t pid, pid_t inner_pid, struct map_log *log,
		struct symbol_cache *cache, struct modules **out);
/* Returns true if nothing is known before modules_refresh(). */
bool modules_are_behind(struct modules *modules);
struct modules *modules_get(struct modules *modules);
void modules_put(struct modules **modules);
/* Creates the load map of a child forked by the process of @parent. The child
 * claimed its first slot in generation @claimed. Opens no file. Returns 0 with
 * one reference, or -errno. */
int modules_fork(struct modules *parent, pid_t pid, pid_t inner_pid,
		 uint32_t claimed, struct modules **out);
/* Addresses below SITES_MAX mean these @sites from now on. Takes a reference.
 * Call it once, before lookups. Forked children inherit the sites. */
void modules_set_sites(struct modules *modules, struct sites *sites);
/* Reads new entries of the log and opens their files. Cheap if there are
 * none. */
void modules_follow(struct modules *modules);
/* Reads the log and the map again, for files that the log lacks. Opens no known
 * file again. Returns 0, or -errno without changes. -ENOENT, -ESRCH: the
 * process has ended or called exec(). -EAGAIN: it keeps loading and
 * unloading. */
int modules_refresh(struct modules *modules);

/* The meaning of an address. Strings are valid until the symbol cache is
 * freed. */
struct symbol {
	const char *name; /* never empty; valid UTF-8 */
	const char *module; /* path in the process's view, or "[unknown]" */
	const char *build_id; /* lower case hex, or "" */
	uint64_t offset; /* as in nm and addr2line */
	bool found;
	bool is_jit; /* generated code; module is "[JIT]" */
	const struct site *site; /* NULL: it is a function */
};

/*
 * Resolves @address in @generation of the load map (map log in
 * shared/ring_shm.h). @address is a function's entry, as hooks pass it; without
 * PIE that may be a PLT entry.
 * - For an unknown address, the map is read again within a tenth of the time.
 *   If it stays unknown, its name is "0xADDRESS".
 * - perfrec's thunks are "[perfrec]".
 * - Generated code has the name of the perf map or jitdump, or "[JIT]". Its
 *   module is "[JIT]".
 *
 * Logs once per file why it has no names. Not for drain threads: may read
 * files.
 */
void modules_resolve(struct modules *modules, uint64_t address,
		     uint32_t generation, struct symbol *out);

/* As modules_resolve(), for any thread: reads neither files nor the log.
 * Returns false if that is necessary or @address is unknown. */
bool modules_resolve_read(struct modules *modules, uint64_t address,
			  uint32_t generation, struct symbol *out);
/* Reads the symbol tables of all known files, including new ones in the log. */
void modules_read_tables(struct modules *modules);

/* Finds the file in whose data @address lies in @generation: only the module and
 * the offset in it are set, and the name "VARIABLE", or "VARIABLE+0xOFFSET" for
 * a part of it, if its symbol is known (out->found); otherwise the name is
 * "". Returns false for other memory. May read files. */
bool modules_object(struct modules *modules, uint64_t address,
		    uint32_t generation, struct symbol *out);

struct module_place {
	uint64_t start, end;
	uint64_t file_offset;
	uint64_t bias; /* added to virtual addresses */
	struct symbol_file *file; /* a reference; NULL: no access */
	bool is_thunks; /* a thunk area (function_shm.h) */
	ino_t inode; /* of the file; 0: unknown */
};

/* Finds the module at @address, or returns false. The caller puts out->file. */
bool modules_place(struct modules *modules, uint64_t address,
		   uint32_t generation, struct module_place *out);

enum module_owner {
	MODULE_PROGRAM,
	MODULE_LIBRARY, /* perfrec's library, or a PLT entry of a hook */
	MODULE_THUNKS,
};

/* Returns the owner of the code at @address. May read the map, and symbol
 * tables of instrumented files. */
enum module_owner modules_owner(struct modules *modules, uint64_t address,
				uint32_t generation);
/* Returns true if @name of @module (as in struct symbol) is code of a clock: the
 * vdso, or the C library's clock_gettime(). Where the CPU's counter is no clock,
 * as in many virtual machines, each hook calls it. perfrec never calls it for
 * the program, so behind perfrec's code it is perfrec's. Any thread. */
bool modules_is_clock(const char *name, const char *module);
/* As modules_is_clock(), for the function at @address. Threads as for
 * modules_resolve(), which it calls: may read files. */
bool modules_clock_at(struct modules *modules, uint64_t address,
		      uint32_t generation);

/* Calls @visit for each function of each module, until it returns non-zero, and
 * returns that; or 0, or -ENOMEM. @name is valid during the call, @module until
 * the symbol cache is freed. May read files. */
typedef int modules_visit(void *context, uint64_t address, const char *name,
			  const char *module);
int modules_each_function(struct modules *modules, modules_visit *visit,
			  void *context);

struct module_file {
	uint64_t start, end;
	uint64_t bias;
	const char *path; /* in the process's view */
	struct symbol_file *file;
};

/* Lists the files mapped now, perhaps repeatedly. May read headers. */
size_t modules_files(struct modules *modules, struct module_file **out);
void modules_files_free(struct module_file **files, size_t count);

/* Counts files without names because a read took too long. Reads nothing. */
size_t modules_late_files(struct modules *modules);

/* Returns true if a file refers to the hooks, except libperfrec_preload and the
 * C library. May read files. */
bool modules_instrumented(struct modules *modules);

#endif
