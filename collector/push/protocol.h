/* SPDX-License-Identifier: Apache-2.0
 *
 * protocol - how windows become the body of a request, for each kind of server.
 * A message is begun, windows are added, and it is finished; the windows need
 * not stay.
 */
#ifndef PERFREC_COLLECTOR_PUSH_PROTOCOL_H
#define PERFREC_COLLECTOR_PUSH_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/push/fit.h"
#include "collector/push/window.h"

#define MESSAGE_TYPE_BYTES 96

struct otlp;

/* All zero but with_pid: begun. */
struct message {
	bool with_pid; /* pid and tid stay as labels */
	struct bytes body; /* not compressed */
	char content_type[MESSAGE_TYPE_BYTES];
	char *query; /* of the URL, with its '?'; NULL: none */
	struct otlp *otlp; /* of otlp_dictionary.h; NULL: none */
	/* Counts of merged and cut stacks. */
	struct fit_counts fitted;
	uint64_t labels_dropped;
};

struct protocol {
	const char *scheme; /* of the URL, before "+http" */
	const char *server; /* what people call it */
	const char *path; /* behind that of the URL */
	/* Limits of a request: see struct schedule_lane. */
	uint32_t batch_max;
	uint64_t batch_bytes, age_max_ns;
	bool one_by_one; /* one profile in a request, of batch_max 1 */
	bool gzip; /* the body is compressed */
	bool takes_files; /* of windows: profiles that fit, as files */
	/* Adds profile @kind of @window, which has it. 0; -EFBIG: it cannot be
	 * made to fit; or -ENOMEM. */
	int (*add)(struct message *message, const struct push_window *window,
		   size_t kind);
	/* Makes the body whole. 0 or -ENOMEM. */
	int (*finish)(struct message *message);
};

extern const struct protocol protocol_pyroscope;
extern const struct protocol protocol_otlp;
extern const struct protocol protocol_parca;
extern const struct protocol protocol_ingest;

/* Frees what the message has. */
void message_release(struct message *message);

/* Reads the answer of an OTLP server: how many profiles it @rejected, and as
 * @text, of @room bytes, the reason. False: it is no such answer. */
bool otlp_rejected(const void *answer, size_t count, uint64_t *rejected,
		   char *text, size_t room);

#endif
