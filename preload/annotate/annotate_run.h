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
#include "shared/record_ext.h"

/* An event and its arguments. */
struct note {
	/* From PERFREC_ARGS_(): an unused cell, @count values, two more cells.
	 * The shim overwrites them. NULL: none. */
	struct perfrec_arg *args;
	const char *const
		*keys; /* of each value; may be PERFREC_NAME and its like */
	size_t count;
	bool special; /* there are keys like PERFREC_NAME */
	bool key_texts; /* the keys are not those of the event's site */
	struct record event[2];
	uint32_t cells; /* of event */
	enum put_class class;
	const struct trace_ids *request; /* note_put()'s own */
	uintptr_t sp; /* for put_run() */
};

/* Records @note, or counts it. Callable wherever a hook may run. */
void note_put(struct note *note);

#endif
