/* SPDX-License-Identifier: Apache-2.0
 *
 * top_session - full-screen `perfrec top`: polls the collector and handles
 * keys.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_TOP_SESSION_H
#define PERFREC_COLLECTOR_COMMAND_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/command/ctl_ask.h"

/* Runs until the user leaves. @request has the verb top. @full_names: no short
 * names. Returns 0, or -errno after logging that the collector or the program
 * has ended. Restores the terminal. Main thread. */
int top_session(const struct ctl_request *request, uint64_t interval_ns,
		bool full_names);

#endif
