/* SPDX-License-Identifier: Apache-2.0
 *
 * answer - checks answers with a status of success by the rules of the
 * protocol, and parses them.
 */
#ifndef PERFREC_COLLECTOR_PUSH_ANSWER_H
#define PERFREC_COLLECTOR_PUSH_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/push/protocol.h"
#include "collector/push/sender.h"

#define ANSWER_TEXT_BYTES 160

/* The rejected part of an accepted request (OTLP). */
struct answer_partial {
	uint64_t rejected; /* profiles */
	char text[ANSWER_TEXT_BYTES]; /* why; "": it did not say */
};

/* Returns true if the successful @answer is valid in @protocol, and sets *@out
 * to the rejected part. */
bool answer_read(const struct protocol *protocol,
		 const struct sender_answer *answer,
		 struct answer_partial *out);

#endif
