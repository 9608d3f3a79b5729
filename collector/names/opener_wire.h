/* SPDX-License-Identifier: Apache-2.0
 *
 * opener_wire - messages between the collector and an opener: perfrec-reader
 * with OPENER_VARIABLE in its environment. Its stdout is a socket. A struct
 * opener_request comes with descriptors (SCM_RIGHTS), the answer is a struct
 * opener_reply.
 *
 *	request       descriptors              action
 *	OPENER_FIND   a folder                 opens `path` below it as O_PATH,
 *	                                       and returns the descriptor
 *	OPENER_PASS   a socket, `files` files  opens O_PATH files for reading,
 *	                                       and sends them with `message`
 *
 * An opener reads no file, so it trusts its peer. It ends when its socket is
 * closed.
 */
#ifndef PERFREC_COLLECTOR_NAMES_OPENER_WIRE_H
#define PERFREC_COLLECTOR_NAMES_OPENER_WIRE_H

#include <limits.h>
#include <stdint.h>

#include "collector/names/reader_wire.h"

#define OPENER_VARIABLE "PERFREC_OPENS"

enum opener_question { OPENER_FIND, OPENER_PASS };

struct opener_request {
	uint32_t question; /* enum opener_question */
	uint32_t files; /* count */
	uint64_t flags, resolve;
	struct reader_request message;
	char path[PATH_MAX];
};

struct opener_reply {
	int32_t err; /* 0 or -errno */
};

#endif
