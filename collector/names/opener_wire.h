/* SPDX-License-Identifier: Apache-2.0
 *
 * opener_wire - the messages between the collector and an opener, which is
 * perfrec-reader, started with OPENER_VARIABLE in its environment. Its stdout
 * is a socket. A request is a struct opener_request with descriptors
 * (SCM_RIGHTS), the answer a struct opener_reply.
 *
 *	request       descriptors              what it does
 *	OPENER_FIND   a folder                 opens `path` below it, O_PATH;
 *the descriptor comes with the answer OPENER_PASS   a socket, `files` files
 *opens the files to read, if they are O_PATH, and sends them over the socket,
 *with `message`
 *
 * An opener reads no file, so it trusts whom it answers. It ends when its
 * socket is closed.
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
	uint32_t files; /* OPENER_PASS: those of `message` */
	uint64_t flags, resolve; /* OPENER_FIND: of openat2() */
	struct reader_request message; /* OPENER_PASS */
	char path[PATH_MAX]; /* OPENER_FIND */
};

struct opener_reply {
	int32_t err; /* 0 or -errno */
};

#endif
