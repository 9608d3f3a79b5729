/* SPDX-License-Identifier: Apache-2.0
 *
 * top_rates - what a recording does now: the difference of two answers to the
 * request top (serve/ctl_wire.h), as a table or as JSON.
 */
#ifndef PERFREC_COLLECTOR_LIVE_TOP_RATES_H
#define PERFREC_COLLECTOR_LIVE_TOP_RATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOP_JSON_VERSION 1

struct top_row {
	const char *name, *module, *state; /* of the later answer */
	uint64_t calls, self_ns; /* since the begin */
	uint64_t new_calls, new_ns; /* since the earlier answer */
	/* Of self_ns, where struct top_rates.sched is set; and of new_ns. */
	uint64_t on_cpu_ns, blocked_ns, new_on_cpu_ns, new_blocked_ns;
};

struct top_rates {
	uint64_t ns; /* between the answers, at least 1 */
	uint64_t calls, self_ns, own_ns; /* in that time */
	uint64_t all_lost, rss_bytes; /* since the begin; now */
	uint64_t programs, threads;
	bool sched; /* it is known when threads ran and were blocked */
	struct top_row *rows; /* those with the most self time first */
	size_t count;
};

/* Sets *@out to what happened from @before to @after, of which any member may
 * be missing or odd: they come from a socket. @after must live as long as
 * *@out. 0, or -EPROTO (@after has no sums) or -ENOMEM. After 0 the caller ends
 * *@out with top_rates_release(). Any thread. */
int top_rates_make(const json_t *before, const json_t *after,
		   struct top_rates *out);
/* @rates may be all zero. */
void top_rates_release(struct top_rates *rates);

#define TOP_SHARE_TEXT 32

/* Writes how much of the time between the answers @ns is, as "12.5%", and
 * returns @text. */
const char *top_rates_share(const struct top_rates *rates, uint64_t ns,
			    char text[TOP_SHARE_TEXT]);

/* Writes a line about all, without its end, to the @size bytes at @text. */
void top_rates_head(const struct top_rates *rates, char *text, size_t size);
/* Prints a line about all and a table of @limit functions (0: all) that ran or
 * were called, to @out. 0 or -ENOMEM. */
int top_rates_print(const struct top_rates *rates, size_t limit,
		    bool full_names, FILE *out);
/* Prints one line of JSON with @limit functions (0: all) to @out. */
void top_rates_print_json(const struct top_rates *rates, size_t limit,
			  FILE *out);

#endif
