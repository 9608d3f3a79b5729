/* SPDX-License-Identifier: Apache-2.0
 *
 * scopes - slices of a thread: a block, a start and an end, an end in another
 * function, and a name made at run time.
 */
#define PERFREC_CATEGORY "example"
#include <perfrec.h>
#include <stdio.h>

static int parse(int n)
{
	PERFREC_SCOPE("parse");

	if (n % 2)
		return n; /* the slice ends here as well */
	return n / 2;
}

static void finish(perfrec_span span)
{
	perfrec_end(span); /* begun by the caller */
}

int main(void)
{
	char name[32];
	int i;

	PERFREC_SCOPE("main");
	for (i = 0; i < 2; i++) {
		perfrec_span span;

		snprintf(name, sizeof(name), "request %d", i);
		span = PERFREC_BEGIN("request", PERFREC_NAME, name);
		parse(i);
		finish(span);
	}
	return 0;
}
