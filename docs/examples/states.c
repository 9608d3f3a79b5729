/* SPDX-License-Identifier: Apache-2.0
 *
 * states - one of several, at any time.
 */
#include <perfrec.h>

PERFREC_STATE_TRACK(g_connection, "connection", NULL, 0);

int main(void)
{
	PERFREC_STATE(&g_connection, "connecting");
	PERFREC_STATE(&g_connection, "idle");
	PERFREC_STATE(&g_connection, "busy", "request", 1);
	PERFREC_STATE_END(&g_connection);
	return 0;
}
