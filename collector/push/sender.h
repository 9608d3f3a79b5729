/* SPDX-License-Identifier: Apache-2.0
 *
 * sender - requests over HTTP by libcurl: several at once, one for each lane,
 * in one thread. All of an answer is bounded: its time, its bytes.
 *
 * libcurl reads the usual variables for proxies (https_proxy, no_proxy, ...).
 * Redirections are not followed: credentials go to no other host.
 */
#ifndef PERFREC_COLLECTOR_PUSH_SENDER_H
#define PERFREC_COLLECTOR_PUSH_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/push/endpoint.h"

/* The beginning of an answer that is kept, and the length that ends the
 * request.
 */
#define SENDER_ANSWER_KEPT (64u << 10)
#define SENDER_ANSWER_MAX (4u << 20)
#define SENDER_TEXT_BYTES 256
#define SENDER_TYPE_BYTES 64

struct sender;

enum sender_result {
	SENDER_ANSWERED, /* there is a status */
	SENDER_NETWORK, /* no server, a cut connection */
	SENDER_SILENT, /* there is a server, which took too long */
	SENDER_TLS, /* the certificate, or the TLS of the server */
};

struct sender_answer {
	uint32_t lane;
	enum sender_result result;
	long status;
	uint64_t taken_ns; /* from its start */
	uint64_t retry_after_ns; /* 0: the server did not say */
	char text[SENDER_TEXT_BYTES]; /* of libcurl: what failed */
	char type[SENDER_TYPE_BYTES]; /* Content-Type, or "" */
	const uint8_t *body; /* until the lane is started again */
	size_t count;
	bool cut; /* there was more than is kept */
};

/* NULL: no memory. @seconds: the longest that a request may take. */
struct sender *sender_new(uint32_t lanes, long seconds);
void sender_free(struct sender *sender);

/* Starts to send @message to @endpoint; both must exist until the answer.
 * Returns 0, -ENOMEM, or -EIO if libcurl rejects the request. */
int sender_start(struct sender *sender, uint32_t lane,
		 const struct endpoint *endpoint, struct message *message,
		 const char *const *headers);
/* Waits until there is something to do, @fd (-1: none) can be read, or @wait_ns
 * have passed. Returns whether @fd can be read. */
bool sender_wait(struct sender *sender, int fd, uint64_t wait_ns);
/* How long the request of @lane has been with a server that has not answered;
 * 0: there is none. */
uint64_t sender_silent_ns(const struct sender *sender, uint32_t lane);
/* Sets *@out to an answer that has come. False: none has. */
bool sender_answer(struct sender *sender, struct sender_answer *out);

#endif
