/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - the text of one process, and what is changed in it: sites of
 * functions are connected to the thunks, switched off and on by one byte each,
 * and put back as they were (docs/OVERHEAD.md). The program is never stopped.
 *
 * An image is one process with one memory: exec ends it. It belongs to one
 * thread at a time, which may be any. It writes through the descriptor of
 * /proc/PID/mem, never through a mapping.
 *
 * Before each write the byte is read again. What is not as it was left belongs
 * to somebody else (a debugger's breakpoint): the site is left alone from then
 * on, and counted.
 */
#ifndef PERFREC_COLLECTOR_PATCH_PATCH_H
#define PERFREC_COLLECTOR_PATCH_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes;
struct code_plan;
struct patch_image;
struct thunk_area;

/* Why a function was not connected. */
enum patch_reason {
	PATCH_DONE, /* it is connected */
	PATCH_REFUSED, /* by the plan: code_function.refused says why */
	PATCH_NO_SITES, /* the plan has none of it */
	PATCH_MERGED, /* one of its sites stands for other functions, too */
	PATCH_NO_MAP, /* /proc/PID/maps cannot be read */
	PATCH_NOT_MAPPED, /* a site is in no mapping of the module's file */
	PATCH_NOT_EXECUTABLE,
	PATCH_SHARED, /* the mapping is shared: others would see the change */
	PATCH_DIFFERS, /* the bytes in memory are not those of the file */
	PATCH_OUT_OF_REACH, /* the thunk area is mapped nowhere near */
	PATCH_NUMBER, /* the number has thunks of another function, or none is
		       * possible */
	PATCH_NO_WRITE, /* the kernel refuses writes */
	PATCH_STUCK, /* a site of it cannot be written (any more): somebody else
		      * has written there, or the kernel refuses. It is off, and
		      * some of its sites may be as in the file, or on */
	PATCH_GONE, /* the process ended, or has another image now */
	PATCH_NO_MEMORY, /* of ours */
	PATCH_REASONS,
};

/* A few words for a person: "the bytes differ from the file's". */
const char *patch_reason_text(enum patch_reason reason);

struct patch_counts {
	uint64_t sites; /* that are connected now */
	uint64_t off; /* of them */
	uint64_t foreign; /* sites left alone, as somebody else wrote there */
	uint64_t writes; /* ever, system calls */
	uint64_t sites_written; /* ever: each change of each site */
	uint64_t barriers; /* ever */
	uint64_t ns; /* CPU time that all this took us */
};

/* Opens /proc/@pid/mem to read and to write, for user @uid. Returns the
 * descriptor or a negative errno; -EPERM: the process has other rights than
 * the user. */
int patch_mem_open(pid_t pid, uid_t uid);
/* Whether @fd, which a program sent, is a file /proc/PID/mem. Anything else
 * could block us, even by close(): so the caller keeps nothing else. Asks no
 * file system that might not answer. */
bool patch_mem_is_good(int fd);
/* Whether the kernel lets us write text through @mem: writes the byte at
 * @address as it is there. @address is in memory that the program may not
 * write, and nobody else changes. One that cannot be read is no refusal. */
bool patch_mem_is_writable(int mem, uint64_t address);

/*
 * A process that is as its files say. @pid is its outer id, to read its map.
 * The image owns @mem from now on. @area must stay. @registered: the program
 * has registered for membarrier's GLOBAL_EXPEDITED; else changes take 10 ms
 * longer. NULL: no memory, and @mem is the caller's still.
 */
struct patch_image *patch_image_new(struct thunk_area *area, pid_t pid, int mem,
				    bool registered);
/*
 * The image of a process that was forked from that of @parent: the same modules
 * and functions are connected. What is on and off is read from its memory,
 * since it was forked at any moment. NULL: no memory.
 */
struct patch_image *patch_image_fork(const struct patch_image *parent,
				     pid_t pid, int mem);
/* Writes nothing. NULL: nothing. */
void patch_image_free(struct patch_image *image);

/* A module of the image: @plan (collector/code/code_plan.h) says which sites it
 * has, at which addresses of its file, @bias is added to them, @inode is that
 * of the file. @plan must stay until the image forgets the module. Returns its
 * number in the image, or -ENOMEM. */
int patch_module_add(struct patch_image *image, const struct code_plan *plan,
		     uint64_t bias, ino_t inode);
/* Puts its text back as it was, where that is ours still. Returns as
 * patch_switch(). */
int patch_module_restore(struct patch_image *image, int module);
/* The module was unloaded: its functions are not connected any more. Nothing is
 * written. */
void patch_module_forget(struct patch_image *image, int module);

/* The sites of a function that call their thunks. */
enum patch_sites {
	PATCH_NEITHER, /* the function is off */
	PATCH_ENTRIES, /* it is counted */
	PATCH_BOTH, /* entries and exits */
};

struct patch_function {
	int module;
	uint32_t function; /* its index in the plan */
	uint32_t number; /* shared/function_shm.h. Several functions may have
			  * the same number if they are at one address: an
			  * inline function of several modules */
	enum patch_sites on; /* once it is connected */
	enum patch_reason reason; /* set */
	uint64_t address; /* set, if connected: of the function itself */
};

/*
 * Connects functions: each of them wholly, or not at all. Makes their thunks.
 * @held: the program has one thread, and it waits (CONTROL_HOLD): whole pages
 * are written, without barriers. Returns how many are connected.
 */
size_t patch_connect(struct patch_image *image, struct patch_function *list,
		     size_t count, bool held);
/* Whether function @number is connected in this image. */
bool patch_is_connected(const struct patch_image *image, uint32_t number);

/*
 * Switches the sites @on of the @count functions with these @numbers on and
 * their other sites off: one byte at each site. Skips sites that need no
 * change, are not connected, or were overwritten by others. If a function has
 * an overwritten site, its other sites are switched off where possible: its
 * thunks must record nothing. Returns 0, -ESRCH if the image is gone, or
 * -ENOMEM.
 */
int patch_switch(struct patch_image *image, const uint32_t *numbers,
		 size_t count, enum patch_sites on);
/* After patch_switch(): whether function @number has a site that could not be
 * written. The next patch_switch() tries again. */
bool patch_is_stuck(const struct patch_image *image, uint32_t number);

/* Puts all text back as it was, byte for byte, and disconnects all functions.
 * Returns as patch_switch(). */
int patch_restore(struct patch_image *image);

/* Whether the process is known to have ended, or to have another image. */
bool patch_is_gone(const struct patch_image *image);
/* Its /proc/PID/mem, which stays the image's. */
int patch_image_mem(const struct patch_image *image);

struct patch_counts patch_counts(const struct patch_image *image);

/*
 * A list of what is changed, from which another process can restore the text.
 * @tell is called by patch_connect() before anything is written, with entries
 * for what it will write; a list is any number of such entries, one after
 * another. It is called by the thread of patch_connect(). NULL: nobody is told.
 */
typedef void patch_tell(void *arg, const void *entries, size_t bytes);
void patch_tell_to(struct patch_image *image, patch_tell *tell, void *arg);
/* Appends the entries of all that is connected to @out. */
void patch_export(const struct patch_image *image, struct bytes *out);

struct text_map;

struct patch_restored {
	uint64_t restored, unchanged, foreign; /* entries */
};

/*
 * Restores the text of the process whose memory is @mem from @bytes bytes of
 * @entries, which need not be aligned and are not believed: an entry is obeyed
 * only if the bytes in memory are those that it says we left there. If @map is
 * not NULL, it is that of the process, and the file of the entry must be mapped
 * there, too: so the list may be that of another process. @registered as of
 * patch_image_new(). Returns 0 and what was done in *@restored (NULL: not
 * asked for), -EINVAL if the list is not whole (then nothing is written), or as
 * patch_switch().
 */
int patch_restore_from(int mem, const void *entries, size_t bytes,
		       bool registered, const struct text_map *map,
		       struct patch_restored *restored);
/* How many of @bytes bytes of a list are whole entries. Pure. */
size_t patch_entries_whole(size_t bytes);

#endif
