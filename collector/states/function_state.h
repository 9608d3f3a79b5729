/* SPDX-License-Identifier: Apache-2.0
 *
 * function_state - the states of a function (docs/OVERHEAD.md).
 */
#ifndef PERFREC_COLLECTOR_STATES_FUNCTION_STATE_H
#define PERFREC_COLLECTOR_STATES_FUNCTION_STATE_H

/* The numbers are stored in files of states_cache. */
enum function_state {
	FUNCTION_SPAN = 0, /* each call is recorded */
	FUNCTION_COUNTED = 1, /* each call is counted, none is recorded */
	FUNCTION_OFF = 2, /* neither */
	/* On the way from FUNCTION_SPAN to another state: no new call is
	 * recorded, and recorded calls end. Never requested. */
	FUNCTION_DRAINING = 3,
};

#endif
