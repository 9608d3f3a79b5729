/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_wire - what `perfrec ctl` and a collector say to each other. They use a
 * SOCK_STREAM socket, which lies beside the socket for programs. A connection
 * carries one request and one answer.
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
 * Without a target all programs are meant. The answer is one JSON object, up to
 * the end of file:
 *
 *     {"error": "why not"}
 *     {"collector": {...}, "programs": [the programs that were meant], ...}
 *
 * The answer comes when the request is fulfilled: files that were flushed or
 * finished are whole then. A flush is answered at the latest when its client
 * has waited for so many milliseconds, and says what is not flushed:
 *
 *     "flushed": [{"folder", "files", "bytes"}],
 *     "not_flushed": [{"folder", "why"}]
 *
 * A snapshot is answered in the same way, with "snapshots" (the folders that
 * are on the disk) and "not_written":
 *
 *     "snapshots": [{"folder"}], "not_written": [{"folder", "why"}]
 *
 * A CHANGE is a letter for the state that functions shall have, and a glob that
 * says which. After functions the answer has for each program an array of its
 * functions; see perfrec-ctl(1). After top it has sums since the begin of the
 * recordings, of all programs that were meant and of those that were recorded
 * into the same folders:
 *
 *     "top": {"ns": when, "calls", "self_ns", "own_ns", "lost", "rss_bytes",
 *             "known": how many functions there are,
 *             "functions": [{"name", "module", "calls", "self_ns", "state",
 *                            with --sched "on_cpu_self_ns" and the like}]}
 *
 * with at most CTL_TOP_FUNCTIONS functions, those with the most self time.
 * After stats there are figures (stats.def) of the collector and of its
 * recordings:
 *
 *     "stats": {..., "refusals": [{"why", "programs"}],
 *               "recordings": [{"program", "folder", ...}]}
 *
 * Only the user of the collector, and root, may connect.
 */
#ifndef PERFREC_COLLECTOR_SERVE_CTL_WIRE_H
#define PERFREC_COLLECTOR_SERVE_CTL_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/base/json_text.h"

#define CTL_REQUEST_MAX 8192 /* bytes, the newline included */
#define CTL_ANSWER_MAX (16u << 20)
#define CTL_TOP_FUNCTIONS 2000

/* The letters of a CHANGE. */
#define CTL_FUNCTIONS_SPAN 's'
#define CTL_FUNCTIONS_COUNT 'c'
#define CTL_FUNCTIONS_OFF 'o'

/* A function of "top", and of what perfrec top --json makes of it. */
struct ctl_function {
	const char *name, *module, *state;
	uint64_t calls, self_ns;
	bool sched; /* the next are known */
	uint64_t on_cpu_self_ns, runnable_self_ns, blocked_self_ns;
};

static inline void ctl_set_ns(json_t *json, const char *key, uint64_t ns)
{
	json_object_set_new(json, key, json_integer((json_int_t)ns));
}

/* A new object of @function, which the caller owns. */
static inline json_t *ctl_function_json(const struct ctl_function *function)
{
	json_t *json = json_object();

	json_object_set_new(json, "name", json_text(function->name));
	json_object_set_new(json, "module", json_text(function->module));
	json_object_set_new(json, "state", json_text(function->state));
	json_object_set_new(json, "calls",
			    json_integer((json_int_t)function->calls));
	ctl_set_ns(json, "self_ns", function->self_ns);
	if (!function->sched)
		return json;
	ctl_set_ns(json, "on_cpu_self_ns", function->on_cpu_self_ns);
	ctl_set_ns(json, "runnable_self_ns", function->runnable_self_ns);
	ctl_set_ns(json, "blocked_self_ns", function->blocked_self_ns);
	return json;
}

#endif
