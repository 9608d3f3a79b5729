/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/say.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/core/sys.h"
#include "shared/compiler.h"

static size_t append_text(char *line, size_t at, size_t size, const char *text)
{
	size_t length = MIN(strlen(text), size - at);

	memcpy(line + at, text, length);
	return at + length;
}

/* Writes the line only if stderr takes it without waiting. Suppresses SIGPIPE
 * and SIGXFSZ, which could kill a program that never writes to stderr. */
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

const char *say_decimal(uint32_t number, char text[SAY_DECIMAL])
{
	char *digit = text + SAY_DECIMAL - 1;

	*digit = '\0';
	do {
		*--digit = (char)('0' + number % 10);
	} while (number /= 10);
	return digit;
}

const char *say_value(const char *value, char text[SAY_VALUE])
{
	size_t length = append_text(text, 0, SAY_VALUE - 1, value);

	text[length] = '\0';
	return text;
}

/* Codes below a blank, DEL, and U+0080 to U+009F in UTF-8. */
static void clean_line(unsigned char *line, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
		else if (i && line[i - 1] == 0xc2 && line[i] < 0xa0)
			line[i - 1] = line[i] = '?';
	}
}

void say(const char *const *parts, size_t count)
{
	char line[256];
	size_t length = append_text(line, 0, sizeof(line) - 1, "perfrec: ");

	for (size_t i = 0; i < count; i++)
		length = append_text(line, length, sizeof(line) - 1, parts[i]);
	clean_line((unsigned char *)line, length);
	line[length++] = '\n';
	write_quietly(line, length);
}
