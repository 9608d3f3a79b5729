/* SPDX-License-Identifier: Apache-2.0
 *
 * held_victim - calls the hooks of a function at 0x1000 until EOF on its
 * standard input, at least once.
 *
 *   held_victim
 */
#include <poll.h>
#include <unistd.h>

void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

int main(void)
{
	struct pollfd end = { STDIN_FILENO, POLLIN, 0 };

	do {
		for (int i = 0; i < 1000; i++) {
			__cyg_profile_func_enter((void *)0x1000, NULL);
			__cyg_profile_func_exit((void *)0x1000, NULL);
		}
	} while (poll(&end, 1, 1) == 0);
	return 0;
}
