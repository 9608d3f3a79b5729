/* SPDX-License-Identifier: Apache-2.0
 *
 * collect_options - the command line of perfrec-collect.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_COLLECT_OPTIONS_H
#define PERFREC_COLLECTOR_OPTIONS_COLLECT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/names/filter.h"
#include "collector/base/log.h"
#include "shared/wire.h"

#define DRAIN_WORKERS_MAX 8 /* as many as an arena has doorbells */

enum alloc_mode {
	ALLOC_OFF,
	ALLOC_AUTO, /* EXACT in instrumented programs, else SAMPLED */
	ALLOC_EXACT,
	ALLOC_SAMPLED,
};

enum cpu_engine {
	CPU_PERF, /* perf_event: nothing in the program */
	CPU_SIGNAL, /* timers and SIGPROF in the program: only if asked for */
};

#define ALLOC_PERIOD_DEFAULT (512u << 10) /* bytes between samples */
#define SPAN_DEPTH_MAX 65535 /* --depth */
#define CPU_HZ_MAX 10000
#define STACK_BYTES_DEFAULT (16u << 10)
#define STACK_BYTES_MAX (60u << 10)

struct collect_options {
	const char *output; /* folder */
	const char *socket; /* NULL: the usual place */
	enum wire_on_full on_full;
	bool compress;
	uint64_t max_bytes; /* 0: by the free space */
	uint64_t max_total; /* of the daemon's recordings; 0: the same */
	struct filter filter;
	uint32_t depth; /* 0: all */
	uint32_t workers; /* 0: by the number of CPUs */
	enum alloc_mode alloc; /* --alloc */
	uint64_t alloc_period; /* of --alloc=sampled */
	uint32_t cpu_hz; /* --cpu: samples a second of each thread; 0: none */
	enum cpu_engine cpu_engine;
	uint32_t stack_bytes; /* --stack-size: the most to copy for a sample */
	uint64_t snapshot_ns; /* --snapshot-interval; 0: none */
	const char *categories; /* --categories; NULL: all */
	int control_fd; /* --recording; -1: daemon */
	const uid_t *allowed;
	size_t allowed_count;
	enum log_level log_level;
	bool quiet_notes; /* see recording_note() */
	char *const *command; /* of the recording, NULL-terminated; or NULL */
};

/* Whether every program is to say hello, not only those that can call a hook:
 * there is something to record in all. */
static inline bool collect_options_want_all(
	const struct collect_options *options)
{
	return options->alloc != ALLOC_OFF || options->cpu_hz;
}

/*
 * Parse the command line. Lists in *@out are allocated once and never freed.
 * Returns -1 to go on, else the status to exit with: 0 after --help and
 * --version, 2 after a message about wrong usage.
 */
int collect_options_parse(int argc, char **argv, struct collect_options *out);

#endif
