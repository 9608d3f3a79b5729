/* SPDX-License-Identifier: Apache-2.0
 *
 * stats_inner - the figures of stats.def as gathered by stats.c, for their
 * writers (ctl_stats.c, stats_text.c).
 */
#ifndef PERFREC_COLLECTOR_SERVE_STATS_INNER_H
#define PERFREC_COLLECTOR_SERVE_STATS_INNER_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct collector;
struct recording;

struct stats_daemon {
#define DAEMON(member, metric, kind, help) uint64_t member;
#define RECORDING(member, metric, kind, help)
#include "collector/serve/stats.def"
#undef DAEMON
#undef RECORDING
};

struct stats_recording {
	const struct recording *recording;
	char program[16]; /* of the oldest remaining process; "": none */
#define DAEMON(member, metric, kind, help)
#define RECORDING(member, metric, kind, help) uint64_t member;
#include "collector/serve/stats.def"
#undef DAEMON
#undef RECORDING
};

/* Requests of perfrec-push that servers refused for one reason. */
struct push_refusal {
	char why[16];
	uint64_t requests;
};

#define PUSH_REFUSALS_MAX 20

struct stats {
	const struct collector *collector; /* has the refusals */
	struct push_refusal push_refusals[PUSH_REFUSALS_MAX];
	size_t push_refusal_count;
	struct stats_daemon daemon;
	struct stats_recording *recordings;
	size_t count;
};

/* Times are in ns. */
enum stats_kind {
	STATS_GAUGE,
	STATS_COUNTER,
	STATS_GAUGE_NS,
	STATS_COUNTER_NS,
};

struct stats_row {
	const char *member, *metric, *help;
	enum stats_kind kind;
	size_t offset; /* in stats_daemon or stats_recording */
};

extern const struct stats_row stats_daemon_rows[];
extern const size_t stats_daemon_row_count;
extern const struct stats_row stats_recording_rows[];
extern const size_t stats_recording_row_count;

/* Returns the figure @row of @of, a structure that matches @row. */
uint64_t stats_value(const struct stats_row *row, const void *of);

/* Returns the reason of refusal @index and its number of programs in
 * *@programs, or NULL after the last reason. */
const char *stats_refusal(const struct stats *stats, size_t index,
			  uint64_t *programs);

/* Gathers the figures. The caller ends *@out by stats_release(). Recordings are
 * valid until the next process_reap(). Main thread. Returns 0 or -ENOMEM. */
int stats_gather(struct collector *collector, struct stats *out);
void stats_release(struct stats *stats);
/* Adds the figures of --push: counters of the collector and the last ones
 * written by perfrec-push (push_stats.c). Main thread. */
void stats_gather_push(struct stats *stats);

#endif
