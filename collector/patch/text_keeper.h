/* SPDX-License-Identifier: Apache-2.0
 *
 * text_keeper - what `perfrec record` keeps so that the text of programs is put
 * back as it was when its collector was killed: for each process that the
 * collector patches its memory, and a list of what is patched in it, which
 * grows. In good order the collector restores all itself.
 */
#ifndef PERFREC_COLLECTOR_PATCH_TEXT_KEEPER_H
#define PERFREC_COLLECTOR_PATCH_TEXT_KEEPER_H

#include <stddef.h>

/* Processes: of more, those that have ended make room; else they are not kept.
 */
#define TEXT_KEEPER_MAX 256

/* All zero keeps nothing. */
struct text_keeper {
	struct kept_text {
		int mem; /* /proc/PID/mem */
		int list; /* a memfd with a list as of patch_tell() */
	} text[TEXT_KEEPER_MAX];
	size_t count;
};

/* Keep the process with the memory @mem, and its @list, which become the
 * keeper's. */
void text_keeper_add(struct text_keeper *keeper, int mem, int list);
/* Restore the text of all, and keep nothing any more. */
void text_keeper_restore(struct text_keeper *keeper);
/* Keep nothing any more. */
void text_keeper_release(struct text_keeper *keeper);

#endif
