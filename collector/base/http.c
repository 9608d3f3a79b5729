/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/http.h"

#include <string.h>

enum MHD_Result http_answer(struct MHD_Connection *connection,
			    unsigned int status, struct MHD_Response *response,
			    const char *type)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (type)
		MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

const char *http_header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool http_has_body(struct MHD_Connection *connection)
{
	const char *length =
		http_header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       http_header(connection, MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

uint16_t http_port(struct MHD_Daemon *server)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server, MHD_DAEMON_INFO_BIND_PORT);

	return info ? info->port : 0;
}
