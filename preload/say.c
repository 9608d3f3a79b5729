/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/sys.h"
#include "shared/compiler.h"

static size_t append(char *line, size_t at, size_t size, const char *text)
{
	size_t length = MIN(strlen(text), size - at);

	memcpy(line + at, text, length);
	return at + length;
}

/* Write as if the line were not there when it cannot be: no waiting for a
 * reader, and no SIGPIPE or SIGXFSZ, which would be the end of a program that
 * itself never writes there. */
static void write_quietly(const char *line, size_t length)
{
	struct pollfd room = { STDERR_FILENO, POLLOUT, 0 };
	struct timespec none = { 0 };
	uint64_t before = 0, raised, old;
	long written;

	if (sys(SYS_ppoll, &room, 1, &none) <= 0 || room.revents != POLLOUT)
		return;
	old = sys_block_signals();
	sys(SYS_rt_sigpending, &before, KERNEL_SIGSET_BYTES);
	written = sys(SYS_write, STDERR_FILENO, line, length);
	if (written == -EPIPE || written == -EFBIG) {
		raised = 1ULL << ((written == -EPIPE ? SIGPIPE : SIGXFSZ) - 1);
		if (!(before & raised))
			sys(SYS_rt_sigtimedwait, &raised, 0, &none,
			    KERNEL_SIGSET_BYTES);
	}
	sys_restore_signals(old);
}

void say(const char *what, const char *why, const char *detail)
{
	char line[256];
	size_t length = 0;

	length = append(line, length, sizeof(line) - 1, "perfrec: ");
	length = append(line, length, sizeof(line) - 1, what);
	length = append(line, length, sizeof(line) - 1, why);
	length = append(line, length, sizeof(line) - 1, detail);
	line[length++] = '\n';
	write_quietly(line, length);
}
