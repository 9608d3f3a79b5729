/* SPDX-License-Identifier: Apache-2.0
 *
 * processes - an arrow from a process to its forked child: an id that both
 * processes use.
 */
#include <perfrec.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	pid_t pid;

	{
		PERFREC_SCOPE("ask", PERFREC_FLOW, 4711);
		pid = fork();
		if (!pid) {
			PERFREC_SCOPE("answer", PERFREC_FLOW_END, 4711);
			perfrec_flush();
			_exit(0);
		}
	}
	return pid < 0 || waitpid(pid, NULL, 0) != pid;
}
