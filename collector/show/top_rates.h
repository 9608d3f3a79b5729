/* SPDX-License-Identifier: Apache-2.0
 *
 * top_rates - the current activity of a recording: the difference between two
 * answers to the request top (options/ctl_wire.h), as a table or as JSON.
 */
#ifndef PERFREC_COLLECTOR_SHOW_TOP_RATES_H
#define PERFREC_COLLECTOR_SHOW_TOP_RATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TOP_JSON_VERSION 1

struct top_row {
	const char *name, *module, *state;
	uint64_t calls, self_ns; /* since the start */
	uint64_t new_calls, new_ns; /* since the earlier answer */
	/* Parts of self_ns and new_ns, if top_rates.sched is set. */
	uint64_t on_cpu_ns, blocked_ns, new_on_cpu_ns, new_blocked_ns;
};

struct top_rates {
	uint64_t ns; /* between the answers, at least 1 */
	uint64_t calls, self_ns, own_ns; /* in that time */
	uint64_t all_lost, rss_bytes; /* since the start; now */
	uint64_t programs, threads;
	bool sched; /* times on CPUs and blocked are known */
	struct top_row *rows; /* sorted by self time, largest first */
	size_t count;
};

/*
 * Sets *@out to the difference from @before to @after. Members may be missing
 * or wrong, because both come from a socket. @after must outlive *@out. Returns
 * 0, -EPROTO (@after has no sums) or -ENOMEM. After 0 the caller calls
 * top_rates_release(). Any thread.
 */
int top_rates_make(const json_t *before, const json_t *after,
		   struct top_rates *out);
/* @rates may be all zero. */
void top_rates_release(struct top_rates *rates);

#define TOP_SHARE_TEXT 32

/* Writes the share of @ns in the time between the answers, such as "12.5%".
 * Returns @text. */
const char *top_rates_share(const struct top_rates *rates, uint64_t ns,
			    char text[TOP_SHARE_TEXT]);

/* Writes a line with the totals, without newline, to @text. */
void top_rates_head(const struct top_rates *rates, char *text, size_t size);
/* Prints a line with the totals and a table of at most @limit active functions
 * (0: all). Returns 0 or -ENOMEM. */
int top_rates_print(const struct top_rates *rates, size_t limit,
		    bool full_names, FILE *out);
/* Prints one line of JSON with at most @limit functions (0: all). */
void top_rates_print_json(const struct top_rates *rates, size_t limit,
			  FILE *out);

#endif
