/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_find - finds the function that a module would have called
 * without the shim.
 */
#ifndef PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_FIND_H
#define PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_FIND_H

#define JUMP_FIND_MAX 2
#define JUMP_CACHE_ENTRIES 4

/* The functions to find in one library. @beside is another function of that
 * library, which a module has always called before names[0]. */
struct jump_wanted {
	const char *beside;
	const char *names[JUMP_FIND_MAX]; /* the second may be NULL */
};

/* The functions for one module, and the fields that identify the module. */
struct jump_found {
	const void *end;
	const void *eh_frame;
	void *const *slot; /* the module's relocated reference to @beside */
	void *bound; /* content of the slot */
	void *functions[JUMP_FIND_MAX];
};

struct jump_cache_entry {
	const void *start; /* of the calling module */
	struct jump_found found;
	const void *map; /* its link_map; NULL: the entry is empty */
};

/* Belongs to one thread. All zero is empty. */
struct jump_cache {
	struct jump_cache_entry entries[JUMP_CACHE_ENTRIES];
};

/*
 * Sets @functions to the functions @wanted->names for the module that contains
 * @return_address, each NULL if there is none. @cache belongs to this thread
 * and to @wanted. Callable from any context.
 */
void jump_find(struct jump_cache *cache, const struct jump_wanted *wanted,
	       const void *return_address, void *functions[JUMP_FIND_MAX]);

#endif
