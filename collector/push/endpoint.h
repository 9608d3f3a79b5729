/* SPDX-License-Identifier: Apache-2.0
 *
 * endpoint - a server from the command line, such as
 * pyroscope+https://host:4040/path, and its credentials.
 */
#ifndef PERFREC_COLLECTOR_PUSH_ENDPOINT_H
#define PERFREC_COLLECTOR_PUSH_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/push/protocol.h"

#define ENDPOINT_HEADERS_MAX 64

struct endpoint {
	const struct protocol *protocol;
	char *given; /* as on the command line, for messages */
	char *url; /* for HTTP, with the protocol's path */
	uint64_t id; /* the same in each run: a hash of it */
	/* Credentials: never in a message. */
	char *user, *password; /* NULL: none */
	char *headers[ENDPOINT_HEADERS_MAX + 1]; /* ends with NULL */
	size_t header_count;
	char *ca_file; /* NULL: that of the system */
};

/* Parses @text. Returns 0, and the caller frees *@out with endpoint_release();
 * or -EINVAL, and *@why is the reason; or -ENOMEM. */
int endpoint_parse(const char *text, struct endpoint *out, const char **why);
void endpoint_release(struct endpoint *endpoint);

/* Reads the credentials of @endpoint from the file at @path (NULL: no file),
 * and from variables if the file has none. Returns 0, or -errno after one line
 * in the log; the endpoint then keeps its credentials. */
int endpoint_load(struct endpoint *endpoint, const char *path);

/* Returns true if the @count bytes at @text contain a credential, which a
 * server may repeat in its answer. */
bool endpoint_secret_in(const struct endpoint *endpoint, const void *text,
			size_t count);

/* The variables that can let us in, for messages. */
const char *endpoint_variables(const struct endpoint *endpoint);

#endif
