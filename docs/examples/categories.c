/* SPDX-License-Identifier: Apache-2.0
 *
 * categories - what --categories chooses from: with 'net*,-net.debug' there are
 * "connect" and nothing else; without a list everything but "verbose".
 */
#include <perfrec.h>

#undef PERFREC_CATEGORY
#define PERFREC_CATEGORY "net"

int main(void)
{
	PERFREC_SCOPE("connect");
	PERFREC_SCOPE_IN("net.debug", "headers");
	PERFREC_SCOPE_IN("db", "query");
	PERFREC_SCOPE_IN("debug.db", "verbose");
	return 0;
}
