/* SPDX-License-Identifier: Apache-2.0
 *
 * listen_options - --listen and --listen-token of perfrec-collect. For a
 * process of one thread, at its start.
 */
#ifndef PERFREC_COLLECTOR_OPTIONS_LISTEN_OPTIONS_H
#define PERFREC_COLLECTOR_OPTIONS_LISTEN_OPTIONS_H

#include <stdbool.h>
#include <sys/socket.h>

struct opts_value;

/* --listen and --listen-token. */
struct listen_options {
	const char *address; /* as given; NULL: nothing listens */
	const char *token; /* a file; NULL: none */
	struct sockaddr_storage socket; /* the same as address */
	bool loopback; /* that is reached from this machine only */
};

/* Stores @value, which belongs to --listen or --listen-token. OPTS_GO_ON, or
 * OPTS_WRONG after one line in the log. */
int listen_options_take(struct listen_options *options,
			const struct opts_value *value);
/* After all options: rejects contradictions, with the same results. */
int listen_options_check(const struct listen_options *options);

/* Whether @host, with or without a port, is "localhost" or an address of this
 * machine alone. Any thread. */
bool listen_options_is_loopback(const char *host);

#endif
