/* SPDX-License-Identifier: Apache-2.0
 *
 * stats_inner - the figures of stats.def as they are gathered (stats.c), for
 * those who write them (ctl_stats.c, stats_text.c).
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
	char program[16]; /* of its oldest process that is left; "": none */
#define DAEMON(member, metric, kind, help)
#define RECORDING(member, metric, kind, help) uint64_t member;
#include "collector/serve/stats.def"
#undef DAEMON
#undef RECORDING
};

struct stats {
	const struct collector *collector; /* has the refusals */
	struct stats_daemon daemon;
	struct stats_recording *recordings;
	size_t count;
};

/* What a figure is; times are in ns. */
enum stats_kind {
	STATS_GAUGE,
	STATS_COUNTER,
	STATS_GAUGE_NS,
	STATS_COUNTER_NS,
};

/* One figure of stats.def. */
struct stats_row {
	const char *member, *metric, *help;
	enum stats_kind kind;
	size_t offset; /* in one of the structures above */
};

extern const struct stats_row stats_daemon_rows[];
extern const size_t stats_daemon_row_count;
extern const struct stats_row stats_recording_rows[];
extern const size_t stats_recording_row_count;

/* The figure @row of @of, which is a structure that @row is for. */
uint64_t stats_value(const struct stats_row *row, const void *of);

/* Why programs were refused, entry @index of the list, and how many in
 * *@programs; NULL: the list is over. */
const char *stats_refusal(const struct stats *stats, size_t index,
			  uint64_t *programs);

/* Fills in *@out, which the caller ends with stats_release(). Recordings are
 * valid until the next process_reap(). Main thread. 0 or -ENOMEM. */
int stats_gather(struct collector *collector, struct stats *out);
void stats_release(struct stats *stats);

#endif
