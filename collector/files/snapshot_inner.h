/* SPDX-License-Identifier: Apache-2.0
 *
 * snapshot_inner - what snapshot.c keeps of each recording. For snapshot.c and
 * its test only.
 */
#ifndef PERFREC_COLLECTOR_FILES_SNAPSHOT_INNER_H
#define PERFREC_COLLECTOR_FILES_SNAPSHOT_INNER_H

#include <stdint.h>

struct snapshot;

/* The snapshots of one recording. */
struct snapshots {
	uint32_t begun; /* how many; the main thread's */
	uint32_t number; /* of the one under way, from 1; 0: none. Any thread */
	struct snapshot *now; /* the same; the jobs thread's; NULL: none */
};

#endif
