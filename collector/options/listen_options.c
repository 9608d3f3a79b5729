/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/options/listen_options.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/options/opts.h"

/* Names are not looked up: they could mean another machine tomorrow. */
static bool read_host(const char *host, uint16_t port,
		      struct listen_options *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&out->socket;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&out->socket;

	if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1",
		      &four->sin_addr) == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		out->loopback =
			ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
		return true;
	}
	if (inet_pton(AF_INET6, host, &six->sin6_addr) != 1)
		return false;
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	out->loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	return true;
}

/* "127.0.0.1:4041" or "[::1]:4041". */
static bool read_address(const char *text, struct listen_options *out)
{
	const char *colon = strrchr(text, ':');
	bool six = text[0] == '[';
	char host[INET6_ADDRSTRLEN];
	size_t length;
	uint64_t port;

	*out = (struct listen_options){ .address = text, .token = out->token };
	if (!colon || size_parse_count(colon + 1, 0, UINT16_MAX, &port) < 0)
		return false;
	length = (size_t)(colon - text);
	if (six && (length < 2 || colon[-1] != ']'))
		return false;
	length -= six ? 2 : 0;
	if (length >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)length, text + six);
	return (strchr(host, ':') != NULL) == six &&
	       read_host(host, (uint16_t)port, out);
}

bool listen_options_is_loopback(const char *host)
{
	struct listen_options options = { .address = NULL };
	char text[INET6_ADDRSTRLEN + 16];
	int length = snprintf(text, sizeof(text), "%s:80", host);

	if (length < 0 || (size_t)length >= sizeof(text))
		return false;
	return (read_address(host, &options) || read_address(text, &options)) &&
	       options.loopback;
}

int listen_options_take(struct listen_options *options,
			const struct opts_value *value)
{
	if (value->id == OPT_LISTEN_TOKEN) {
		options->token = value->text;
		return OPTS_GO_ON;
	}
	if (read_address(value->text, options))
		return OPTS_GO_ON;
	return opts_refuse(value, "give an address in digits and a port, such "
				  "as 127.0.0.1:4041 or [::1]:4041");
}

int listen_options_check(const struct listen_options *options)
{
	if (options->token && !options->address) {
		log_err("--listen-token: only with --listen");
		return OPTS_WRONG;
	}
	if (!options->address || options->loopback || options->token)
		return OPTS_GO_ON;
	log_err("--listen '%s': other machines could read the profiles; add "
		"--listen-token FILE, or listen on 127.0.0.1",
		options->address);
	return OPTS_WRONG;
}
