/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_jump_find - the function that a module would have called if the
 * shim were not in front of it.
 */
#ifndef PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_FIND_H
#define PERFREC_PRELOAD_FLOW_INTERPOSE_JUMP_FIND_H

#define JUMP_FIND_MAX 2
#define JUMP_CACHE_ENTRIES 4

/* Functions of one library that are wanted, and one more function of that
 * library: whoever calls the first of them has called that one before. */
struct jump_wanted {
	const char *beside;
	const char *names[JUMP_FIND_MAX]; /* the second may be NULL */
};

/* What was found for a module, and what the module is known by. */
struct jump_found {
	const void *end;
	const void *eh_frame;
	void *const *slot; /* where its reference to @beside was resolved */
	void *bound; /* what was in that slot */
	void *functions[JUMP_FIND_MAX];
};

struct jump_cache_entry {
	const void *start; /* of the calling module */
	struct jump_found found;
	const void *map; /* its link_map; NULL: nothing is cached here */
};

/* Of one thread. All zero is empty. */
struct jump_cache {
	struct jump_cache_entry entries[JUMP_CACHE_ENTRIES];
};

/*
 * Find the functions that the module around @return_address means
 * by @wanted->names, into @functions; NULL where there is none. @cache belongs
 * to this thread and to @wanted. Any context.
 */
void jump_find(struct jump_cache *cache, const struct jump_wanted *wanted,
	       const void *return_address, void *functions[JUMP_FIND_MAX]);

#endif
