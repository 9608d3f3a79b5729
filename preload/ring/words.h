/* SPDX-License-Identifier: Apache-2.0
 *
 * words - the arguments and results of calls that are recorded with them
 * (struct thunk_words). The fast path of calls without texts is in
 * hook_x86_64.S. Texts are copied by the kernel, so a bad pointer harms nobody.
 */
#ifndef PERFREC_PRELOAD_RING_WORDS_H
#define PERFREC_PRELOAD_RING_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "preload/ring/put.h"
#include "shared/function_shm.h"
#include "shared/record_ext.h"

/* A call at its hook, which has saved the registers. */
struct words_call {
	const struct thunk_words *words;
	uintptr_t sp; /* address of the function's return address */
	const uint8_t *vectors; /* area of xsave */
	bool is_exit;
};

#define WORDS_TEXT_CELLS (WORD_TEXT_MAX / sizeof(struct record))
/* EXT_WORDS, words, texts, and the BEGIN or END. */
#define WORDS_CELLS \
	(1 + THUNK_WORDS_MAX / 2 + THUNK_TEXTS_MAX * (1 + WORDS_TEXT_CELLS) + 1)

struct words_run {
	struct put_run run; /* of cells */
	struct record cells[WORDS_CELLS];
};

/* Makes the run of BEGIN or END @word with the words of @call. Returns false if
 * @call has none, or this thread may not put a run: then @word has to do. Makes
 * system calls for texts. Attached threads in any context; keeps errno. */
bool words_collect(const struct words_call *call, uint64_t word,
		   struct words_run *out);

#endif
