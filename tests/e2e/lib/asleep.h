/* SPDX-License-Identifier: Apache-2.0
 *
 * asleep - for programs of tests whose threads must wait for each other. Compile
 * with -D_GNU_SOURCE -I "$TOP/tests/e2e/lib".
 */
#ifndef PERFREC_TESTS_E2E_LIB_ASLEEP_H
#define PERFREC_TESTS_E2E_LIB_ASLEEP_H

#include <stdio.h>
#include <unistd.h>

/* Returns when the thread has set *@tid to gettid(), and has then slept for 1 ms. */
static inline void await_sleep(const volatile pid_t *tid)
{
	char path[64], state = 0;

	while (!*tid)
		usleep(1000);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *tid);
	while (state != 'S') {
		FILE *file = fopen(path, "r");

		if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
			_exit(3);
		fclose(file);
		usleep(1000);
	}
}

#endif
