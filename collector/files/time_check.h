/* SPDX-License-Identifier: Apache-2.0
 *
 * time_check - no time that was not there: see output/time_sums.h.
 */
#ifndef PERFREC_COLLECTOR_FILES_TIME_CHECK_H
#define PERFREC_COLLECTOR_FILES_TIME_CHECK_H

struct recording;

/* Checks the on-CPU times of @recording, whose functions have been corrected
 * and whose CPU profile has been written. A surplus becomes unknown time of the
 * functions and threads that had it, and is counted in the totals. The thread
 * that finishes the recording. */
void time_check(struct recording *recording);

#endif
