/* SPDX-License-Identifier: Apache-2.0
 *
 * async_event - what a thread tells of asynchronous slices.
 */
#ifndef PERFREC_COLLECTOR_NOTES_ASYNC_EVENT_H
#define PERFREC_COLLECTOR_NOTES_ASYNC_EVENT_H

#include <stdint.h>

struct async_thread;
struct note;
struct site;

enum async_type {
	ASYNC_BEGIN, /* of equal clocks the first */
	ASYNC_ENTER,
	ASYNC_LEAVE,
	ASYNC_END,
	ASYNC_STEP,
	ASYNC_GONE, /* the thread has ended: async_slices_close() */
};

#define ASYNC_NAME_BYTES 16
#define ASYNC_CPU_UNKNOWN UINT64_MAX

/* How long a thread was on a CPU up to an event, in ns since whenever. */
struct async_cpu {
	uint64_t on_ns; /* ASYNC_CPU_UNKNOWN: that is not known */
	uint64_t unknown_ns; /* beside that: on one or not */
};

struct async_event {
	enum async_type type;
	uint64_t ns; /* BOOTTIME */
	const struct site *site; /* lives as long as the process */
	uint64_t key, handle; /* of the slice: all but BEGIN have those of it */
	union {
		struct { /* BEGIN and STEP */
			uint64_t track; /* uuid */
			uint64_t step; /* int64_t or double, as the site says */
			uint64_t at_ns; /* of a STEP, instead of ns; 0: none */
		};
		struct { /* all others */
			struct async_cpu cpu; /* of the thread, until then */
			char name[ASYNC_NAME_BYTES]; /* of the thread; ENTER */
		};
	};
	struct async_thread *thread; /* of the stays; set by the callee */
	struct note *note; /* or NULL */
};

#endif
