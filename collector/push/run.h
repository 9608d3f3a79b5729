/* SPDX-License-Identifier: Apache-2.0
 *
 * run - sends the windows of a spool until its input ends.
 */
#ifndef PERFREC_COLLECTOR_PUSH_RUN_H
#define PERFREC_COLLECTOR_PUSH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/push/endpoint.h"
#include "collector/push/schedule.h"

struct run_options {
	const char *spool;
	bool check; /* only whether the settings are right */
	uint64_t spool_bytes;
	uint64_t linger_ns; /* after the end of the input */
	uint64_t timeout_ns; /* of a request */
	uint32_t otlp_version; /* 0: no header says it */
	int stop_fd; /* readable: the linger is over */
	bool quiet; /* at the end print only losses and unsent windows */
	bool with_pid; /* as label and attribute */
	const char *auth_path; /* NULL: none */
	struct endpoint endpoints[SCHEDULE_LANES_MAX];
	uint32_t endpoint_count;
};

/* Sends. Returns the exit status. */
int run(struct run_options *options);

#endif
