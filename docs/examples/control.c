/* SPDX-License-Identifier: Apache-2.0
 *
 * control - whether it is recorded, a pause, a flush, a thread's name.
 */
#include <perfrec.h>
#include <stdio.h>

int main(void)
{
	perfrec_name_thread("the only one");
	if (!perfrec_is_recording())
		puts("nobody records this");
	{
		PERFREC_SCOPE("recorded");
	}
	perfrec_pause();
	{
		PERFREC_SCOPE("not recorded");
	}
	perfrec_resume();
	PERFREC_MARK("from here on");
	{
		PERFREC_SCOPE("recorded again");
	}
	perfrec_flush();
	return 0;
}
