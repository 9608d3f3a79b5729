/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/start/parent.h"

#include <fcntl.h>
#include <stddef.h>

#include "preload/core/sys.h"

#define READ_BYTES 1024
/* The search stops here in a huge environment. */
#define READS_MAX 1024

static const char g_variable[] = "LD_PRELOAD=";
static const char g_library[] = "libperfrec_preload";

/* State of the search; the environment is read in pieces. */
struct search {
	size_t variable; /* number of matched characters of g_variable */
	size_t library; /* then of g_library */
	bool elsewhere; /* in another variable */
};

/* Reads the next byte. Returns true at the end of the library's name. */
static bool search_byte(struct search *search, char c)
{
	if (!c) {
		*search = (struct search){ 0 };
	} else if (search->elsewhere) {
		return false;
	} else if (search->variable < sizeof(g_variable) - 1) {
		search->elsewhere = c != g_variable[search->variable++];
	} else if (c == g_library[search->library]) {
		search->library++;
	} else {
		search->library = c == g_library[0];
	}
	return search->library == sizeof(g_library) - 1;
}

/* Opens "/proc/PID/environ". */
static long open_environment(unsigned long pid)
{
	char path[40], digits[20];
	const char *part;
	size_t count = 0, length = 0;

	for (part = "/proc/"; *part; part++)
		path[length++] = *part;
	do {
		digits[count++] = (char)('0' + pid % 10);
	} while ((pid /= 10) && count < sizeof(digits));
	while (count)
		path[length++] = digits[--count];
	for (part = "/environ"; *part; part++)
		path[length++] = *part;
	path[length] = '\0';
	return sys(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

bool parent_was_preloaded(void)
{
	/* Not on the stack, which may be tiny. */
	static char bytes[READ_BYTES];
	struct search search = { 0 };
	long fd = open_environment((unsigned long)sys(SYS_getppid));
	bool found = false;
	long got = 1;

	for (int i = 0; fd >= 0 && i < READS_MAX && got > 0 && !found; i++) {
		long at;

		got = sys(SYS_read, fd, bytes, sizeof(bytes));
		for (at = 0; at < got && !found; at++)
			found = search_byte(&search, bytes[at]);
	}
	if (fd >= 0)
		sys(SYS_close, fd);
	return found;
}
