/* SPDX-License-Identifier: Apache-2.0
 *
 * async_event - an event of a thread about asynchronous slices.
 */
#ifndef PERFREC_COLLECTOR_DRAIN_ASYNC_EVENT_H
#define PERFREC_COLLECTOR_DRAIN_ASYNC_EVENT_H

#include <stdint.h>

struct async_thread;
struct note;
struct site;

enum async_type {
	ASYNC_BEGIN, /* the first of events with equal clocks */
	ASYNC_ENTER,
	ASYNC_LEAVE,
	ASYNC_END,
	ASYNC_STEP,
	ASYNC_GONE, /* the thread has ended: async_slices_close() */
};

#define ASYNC_NAME_BYTES 16
#define ASYNC_CPU_UNKNOWN UINT64_MAX

/* The CPU time of a thread up to an event, in ns from any fixed start. */
struct async_cpu {
	uint64_t on_ns; /* ASYNC_CPU_UNKNOWN: unknown */
	uint64_t unknown_ns; /* additional time in an unknown state */
};

struct async_event {
	enum async_type type;
	uint64_t ns; /* BOOTTIME */
	const struct site *site; /* valid until the process is freed */
	uint64_t key, handle; /* of the slice; ENTER, LEAVE and END find it by
			       * them */
	union {
		struct { /* BEGIN and STEP */
			uint64_t track; /* uuid */
			uint64_t step; /* int64_t or double, as the site says */
			uint64_t at_ns; /* of a STEP, replaces ns; 0: none */
		};
		struct { /* all others */
			struct async_cpu cpu; /* of the thread, up to now */
			char name[ASYNC_NAME_BYTES]; /* of the thread; ENTER */
		};
	};
	struct async_thread *thread; /* for the stays; set by the callee */
	struct note *note; /* or NULL */
};

#endif
