/* SPDX-License-Identifier: Apache-2.0
 *
 * instants - moments, with arguments, and the start of something interesting.
 */
#define PERFREC_CATEGORY "example"
#include <perfrec.h>

int main(void)
{
	PERFREC_SCOPE("main");
	PERFREC_INSTANT("cache miss", "key", 42);
	PERFREC_MARK("the slow request", "id", 7);
	PERFREC_TRIGGER("too slow", "ms", 350);
	PERFREC_INSTANT_IN("io", "written", "bytes", 512u);
	return 0;
}
