/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_run - makes a run of cells (record_ext.h) of an event of perfrec.h.
 */
#ifndef PERFREC_PRELOAD_ANNOTATE_ANNOTATE_RUN_H
#define PERFREC_PRELOAD_ANNOTATE_ANNOTATE_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/perfrec.h"
#include "preload/ring/put_run.h"

/* An event and its arguments. */
struct note {
	/* As PERFREC_ARGS_() makes them: one cell that is not used, @count
	 * values, two cells more. The shim writes to them. NULL: none. */
	struct perfrec_arg *args;
	const char *const
		*keys; /* of each value; may be PERFREC_NAME and its like */
	size_t count;
	bool special; /* there are keys like PERFREC_NAME */
	bool key_texts; /* the keys are not those of the event's site */
	struct record event[2];
	uint32_t cells; /* of event */
	enum put_class class;
	uintptr_t sp; /* for put_run() */
};

/* Record @note, or count it. Any context in which a hook may run. */
void note_put(struct note *note);

#endif
