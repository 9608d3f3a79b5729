/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - changes the text of one process: connects sites of functions to
 * thunks, switches each by one byte, and restores the original bytes
 * (docs/OVERHEAD.md). The program is never stopped.
 *
 * An image is one process with one memory; exec() ends it. One thread at a time
 * may use it. Each byte is read again before it is written. If somebody else
 * changed it, such as a debugger, the site stays as it is and is counted.
 */
#ifndef PERFREC_COLLECTOR_CODE_PATCH_H
#define PERFREC_COLLECTOR_CODE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/function_shm.h"

struct bytes;
struct code_plan;
struct patch_image;
struct thunk_area;

enum patch_reason {
	PATCH_DONE,
	PATCH_REFUSED, /* code_function.refused says why */
	PATCH_NO_SITES,
	PATCH_MERGED, /* a site stands for other functions as well */
	PATCH_NO_MAP,
	PATCH_NOT_MAPPED, /* a site is not in a mapping of the file */
	PATCH_NOT_EXECUTABLE,
	PATCH_SHARED, /* others would see the change */
	PATCH_DIFFERS, /* from the file */
	PATCH_OUT_OF_REACH, /* no mapping of the thunk area is near */
	PATCH_NUMBER, /* invalid, or used by another function */
	PATCH_NO_WRITE,
	PATCH_STUCK, /* a site was changed by others or is not writable. The
		      * function is off, but some sites may be plain or on */
	PATCH_GONE, /* the process has ended or called exec() */
	PATCH_NO_MEMORY,
	PATCH_RUNS, /* its first bytes cannot be replaced while threads run */
	PATCH_UNBOUND, /* its slot has no function yet */
	PATCH_REASONS,
};

/* Returns a phrase: "its memory is not executable". */
const char *patch_reason_text(enum patch_reason reason);

struct patch_counts {
	uint64_t sites; /* connected now */
	uint64_t off;
	uint64_t foreign; /* sites left alone */
	uint64_t writes; /* system calls */
	uint64_t sites_written;
	uint64_t barriers;
	uint64_t ns; /* CPU time */
};

/* Returns a descriptor of /proc/@pid/mem, or -errno. -EPERM: the process has
 * other rights than user @uid. */
int patch_mem_open(pid_t pid, uid_t uid);
/* Returns true if @fd, sent by a program, is a /proc/PID/mem. Other files may
 * block even in close(). Asks no file system that may hang. */
bool patch_mem_is_good(int fd);
/* Returns false if the kernel refuses to write text through @mem. Rewrites the
 * byte at @address, in read-only memory. True if it is unreadable. */
bool patch_mem_is_writable(int mem, uint64_t address);

/* Creates the image of an unchanged process. @pid is its outer id. The image
 * owns @mem on success; @area must outlive it. Unless the program is
 * @registered for GLOBAL_EXPEDITED membarriers, changes take 10 ms longer.
 * NULL: out of memory. */
struct patch_image *patch_image_new(struct thunk_area *area, pid_t pid, int mem,
				    bool registered);
/* The same functions are connected as in @parent. The states of sites are read
 * from memory, since a fork may happen at any moment. NULL: out of memory. */
struct patch_image *patch_image_fork(const struct patch_image *parent,
				     pid_t pid, int mem);
/* Writes nothing. */
void patch_image_free(struct patch_image *image);

/* @plan must stay until patch_module_forget(). @bias is added to its addresses.
 * Returns the module's number or -ENOMEM. */
int patch_module_add(struct patch_image *image, const struct code_plan *plan,
		     uint64_t bias, ino_t inode);
/* For an unloaded module: disconnects its functions without writing. */
void patch_module_forget(struct patch_image *image, int module);

/* The sites that call their thunks. */
enum patch_sites {
	PATCH_NEITHER, /* off */
	PATCH_ENTRIES, /* counted */
	PATCH_BOTH, /* entries and exits */
};

struct patch_function {
	int module;
	uint32_t function; /* index in the plan */
	uint32_t number; /* shared/function_shm.h. Copies of an inline function
			  * at one address share a number */
	enum patch_sites on; /* when connected */
	bool many_arguments; /* called: any number may lie on its stack */
	enum patch_reason reason; /* output */
	uint64_t address; /* of the function */
	struct thunk_words words; /* moved or called: arguments to record;
				   * all 0: none */
};

/* No thread runs in the text of the functions while the bits @mask of *@word,
 * which the program shares, are @value. */
struct patch_hold {
	const uint32_t *word;
	uint32_t mask, value;
};

/* Connects each function completely or not at all. A moved function
 * (code_moves.h) is connected only if @held, and keeps its jump for good: what
 * a call does is then up to its thunk, also after patch_restore(). A slot
 * (code_calls.h) also stays at its thunk for good. @held: whole pages are written
 * without barriers; NULL: threads run in the text. Returns the count of connected
 * functions. */
size_t patch_connect(struct patch_image *image, struct patch_function *list,
		     size_t count, const struct patch_hold *held);
bool patch_is_connected(const struct patch_image *image, uint32_t number);

/*
 * Switches the sites @on of these functions on and their other sites off, by
 * one byte each. Skips sites that need no change, are not connected or have
 * been overwritten. If a function has an overwritten site, its other sites are
 * switched off where possible: its thunks must record nothing. Returns 0,
 * -ESRCH if the image is gone, or -ENOMEM.
 */
int patch_switch(struct patch_image *image, const uint32_t *numbers,
		 size_t count, enum patch_sites on);
/* Returns true if a site could not be written. The next patch_switch() tries
 * again. */
bool patch_is_stuck(const struct patch_image *image, uint32_t number);

/* Restores all text and disconnects all functions. As patch_switch(). */
int patch_restore(struct patch_image *image);

bool patch_is_gone(const struct patch_image *image);
int patch_image_mem(const struct patch_image *image);

struct patch_counts patch_counts(const struct patch_image *image);

/* Receives the entries of a list that lets another process restore the text.
 * patch_connect() calls it before it writes. The list is the concatenation of
 * all entries. NULL: no list. */
typedef void patch_tell(void *arg, const void *entries, size_t bytes);
void patch_tell_to(struct patch_image *image, patch_tell *tell, void *arg);
void patch_export(const struct patch_image *image, struct bytes *out);

struct text_map;

struct patch_restored {
	uint64_t restored, unchanged, foreign;
};

/*
 * Restores text from a list, which is hostile and need not be aligned. An entry
 * counts only if memory has the bytes it says we wrote. With @map, the entry's
 * file must also be mapped there, so the list may come from another process.
 * *@restored may be NULL. Returns 0, -EINVAL for an incomplete list (nothing is
 * written), or as patch_switch().
 */
int patch_restore_from(int mem, const void *entries, size_t bytes,
		       bool registered, const struct text_map *map,
		       struct patch_restored *restored);
/* Rounds @bytes down to whole entries. */
size_t patch_entries_whole(size_t bytes);

#endif
