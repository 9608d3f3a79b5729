/* SPDX-License-Identifier: Apache-2.0
 *
 * http - what servers of libmicrohttpd have in common. For threads of
 * libmicrohttpd that have a connection, unless a function says otherwise.
 */
#ifndef PERFREC_COLLECTOR_BASE_HTTP_H
#define PERFREC_COLLECTOR_BASE_HTTP_H

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

/* Answers with @response of the type @type (NULL: none), which no cache keeps
 * and no browser takes for another type. Takes over @response. If @response is
 * NULL (no memory), returns MHD_NO, which closes the connection. */
enum MHD_Result http_answer(struct MHD_Connection *connection,
			    unsigned int status, struct MHD_Response *response,
			    const char *type);
/* Returns header @name of the request, or NULL. */
const char *http_header(struct MHD_Connection *connection, const char *name);
/* Returns true if the request announces a body. */
bool http_has_body(struct MHD_Connection *connection);
/* Returns the port that @server listens on; 0: unknown. Any thread. */
uint16_t http_port(struct MHD_Daemon *server);

#endif
