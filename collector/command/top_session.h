/* SPDX-License-Identifier: Apache-2.0
 *
 * top_session - perfrec top on a screen: asks the collector again and again,
 * and does what keys say.
 */
#ifndef PERFREC_COLLECTOR_COMMAND_TOP_SESSION_H
#define PERFREC_COLLECTOR_COMMAND_TOP_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/command/ctl_ask.h"

/* Until the user leaves. @request is that of the verb top; @full_names: names
 * are not folded. Returns 0, or -errno when the collector or the program has
 * ended: the log says so. The terminal is then as it was. Main thread. */
int top_session(const struct ctl_request *request, uint64_t interval_ns,
		bool full_names);

#endif
