/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_run - an event of perfrec.h as a run of cells (record_ext.h).
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_RUN_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/perfrec.h"
#include "preload/ring/put_run.h"

/* An event and what it is said with. */
struct note {
	/* As PERFREC_ARGS_() makes them: one cell that is not used, @count
	 * values, two cells more. Written to. NULL: none. */
	struct perfrec_arg *args;
	const char *const
		*keys; /* one for each, PERFREC_NAME or the like too */
	size_t count;
	bool special; /* there are such keys */
	bool key_texts; /* the keys are not those of the event's site */
	struct record event[2];
	uint32_t cells; /* of event */
	enum put_class class;
	uintptr_t sp; /* as put_run() has it */
};

/* Record it, or count it. Any context in which a hook may run. */
void note_put(struct note *note);

#endif
