/* SPDX-License-Identifier: Apache-2.0
 *
 * copy - a library, or a plugin, with a copy of perfrec.h of its own.
 */
#include "perfrec.h"

int copy(int n);

int copy(int n)
{
	PERFREC_SCOPE("in the copy", "n", n);
	return n + 1;
}
