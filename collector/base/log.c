/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"

#define LIMIT_LINES 10ULL
#define LIMIT_NS 1000000000ULL

static const char *g_program = "perfrec";
static enum log_level g_max = LOG_INFO;

void log_init(const char *program, enum log_level max)
{
	g_program = program;
	g_max = max;
}

static void write_line(enum log_level level, uint64_t withheld,
		       const char *format, va_list args)
{
	static const char *const prefix[] = { "error: ", "warning: ", "", "" };
	char line[1024];
	int saved = errno;
	int length;

	if (level > g_max)
		return;
	length = snprintf(line, sizeof(line), "%s: %s", g_program,
			  prefix[level]);
	errno = saved; /* for %m */
	length += vsnprintf(line + length, sizeof(line) - (size_t)length,
			    format, args);
	if (withheld && length < (int)sizeof(line))
		length += snprintf(line + length, sizeof(line) - (size_t)length,
				   " (%llu more of these were not logged)",
				   (unsigned long long)withheld);
	length = MIN(length, (int)sizeof(line) - 2);
	/* The names of a program may contain control characters, which could
	 * fake lines of the log. */
	for (int i = 0; i < length; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	line[length++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)length);
	errno = saved;
}

void log_at(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_line(level, 0, format, args);
	va_end(args);
}

/* Returns true if one more line may be written. @limit is a bucket of
 * LIMIT_LINES lines, refilled by one line each LIMIT_NS. Sets *@withheld to the
 * number of lines dropped before. The lock of log_limited() is held. */
static bool take_line(struct log_limit *limit, uint64_t *withheld)
{
	uint64_t now = clock_monotonic_ns(), room = LIMIT_LINES * LIMIT_NS;

	*withheld = limit->withheld;
	if (limit->next_ns > now) {
		limit->withheld++;
		return false;
	}
	if (limit->next_ns + room < now)
		limit->next_ns = now - room;
	limit->next_ns += LIMIT_NS;
	limit->withheld = 0;
	return true;
}

void log_limited(struct log_limit *limit, enum log_level level,
		 const char *format, ...)
{
	static struct lock lock = LOCK_INITIALIZER(LOG);
	uint64_t withheld;
	va_list args;
	bool take;

	lock_acquire(&lock);
	take = take_line(limit, &withheld);
	lock_release(&lock);
	if (!take)
		return;
	va_start(args, format);
	write_line(level, withheld, format, args);
	va_end(args);
}
