/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_wire - the protocol between `perfrec ctl` and a collector, on a
 * SOCK_STREAM socket next to the socket for programs. A connection carries one
 * request and one answer.
 *
 * The request is one line: a verb, and after a space a target:
 *
 *     list | pause [TARGET] | resume [TARGET] | stop [TARGET]
 *     flush [TARGET] [TAB MILLISECONDS]
 *     snapshot [TARGET] [TAB MILLISECONDS [TAB WHY]]
 *     categories [TARGET] TAB LIST
 *     functions [TARGET] { TAB CHANGE }
 *     top [TARGET]
 *     stats
 *
 * A target is the process id of a program, its name, or the name of its folder.
 * Without a target the request applies to all programs. The answer is one JSON
 * object, up to the end of file:
 *
 *     {"error": "why not"}
 *     {"collector": {...}, "programs": [the selected programs], ...}
 *
 * The answer follows when the request is fulfilled: flushed or finished files
 * are complete by then. A flush is answered after MILLISECONDS at the latest,
 * and lists the recordings that are not flushed:
 *
 *     "flushed": [{"folder", "files", "bytes"}],
 *     "not_flushed": [{"folder", "why"}]
 *
 * A snapshot is answered likewise. "snapshots" lists the folders on the disk:
 *
 *     "snapshots": [{"folder"}], "not_written": [{"folder", "why"}]
 *
 * A CHANGE is a letter for the new state and a glob for the functions. The
 * answer to functions has an array of functions for each program; see
 * perfrec-ctl(1). The answer to top has sums since the start of the recordings.
 * They include the selected programs and all others in the same folders:
 *
 *     "top": {"ns": when, "calls", "self_ns", "own_ns", "lost", "rss_bytes",
 *             "known": number of functions,
 *             "functions": [{"name", "module", "calls", "self_ns", "state",
 *                            with --sched "on_cpu_self_ns" and the like}]}
 *
 * It lists at most CTL_TOP_FUNCTIONS functions, those with the most self time.
 * The answer to stats has figures (stats.def) of the collector and of its
 * recordings:
 *
 *     "stats": {..., "refusals": [{"why", "programs"}],
 *               "recordings": [{"program", "folder", ...}]}
 *
 * Only the user of the collector, and root, may connect.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_CTL_WIRE_H
#define PERFREC_COLLECTOR_OPTIONS_CTL_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/base/json_text.h"

#define CTL_REQUEST_MAX 8192 /* including the newline */
#define CTL_ANSWER_MAX (16u << 20)
#define CTL_TOP_FUNCTIONS 2000

/* Letters of a CHANGE. */
#define CTL_FUNCTIONS_SPAN 's'
#define CTL_FUNCTIONS_COUNT 'c'
#define CTL_FUNCTIONS_OFF 'o'

/* A function in "top" and in perfrec top --json. */
struct ctl_function {
	const char *name, *module, *state;
	uint64_t calls, self_ns;
	bool sched; /* the following times are known */
	uint64_t on_cpu_self_ns, runnable_self_ns, blocked_self_ns;
};

static inline void ctl_set_number(json_t *json, const char *key,
				  uint64_t number)
{
	json_object_set_new(json, key, json_number(number));
}

/* Returns a new object for the caller to free. */
static inline json_t *ctl_function_json(const struct ctl_function *function)
{
	json_t *json = json_object();

	json_object_set_new(json, "name", json_text(function->name));
	json_object_set_new(json, "module", json_text(function->module));
	json_object_set_new(json, "state", json_text(function->state));
	ctl_set_number(json, "calls", function->calls);
	ctl_set_number(json, "self_ns", function->self_ns);
	if (!function->sched)
		return json;
	ctl_set_number(json, "on_cpu_self_ns", function->on_cpu_self_ns);
	ctl_set_number(json, "runnable_self_ns", function->runnable_self_ns);
	ctl_set_number(json, "blocked_self_ns", function->blocked_self_ns);
	return json;
}

#endif
