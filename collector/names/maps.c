/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/names/maps.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "collector/base/clock.h"
#include "collector/names/helper.h"

#define TURN_NS UINT64_C(10000000000)

static sem_t g_turn; /* 1: free */

__attribute__((constructor)) static void begin_turns(void)
{
	sem_init(&g_turn, 0, 1);
}

bool maps_turn_line(struct maps_turn *turn)
{
	uint64_t deadline_ns;
	int ms;

	if (++turn->lines <= MAPS_LINES_SOON)
		return true;
	if (turn->lines == MAPS_LINES_SOON + 1) {
		deadline_ns = clock_monotonic_ns() + TURN_NS;
		while (!turn->taken && (ms = helper_patience_ms(deadline_ns))) {
			struct timespec until;

			clock_gettime(CLOCK_MONOTONIC, &until);
			until.tv_nsec += ms * 1000000L;
			until.tv_sec += until.tv_nsec / 1000000000;
			until.tv_nsec %= 1000000000;
			turn->taken = !sem_clockwait(&g_turn, CLOCK_MONOTONIC,
						     &until);
		}
	}
	/* Checks after each piece of work that may delay others. */
	return turn->lines % MAPS_LINES_SOON != 1 || !helper_is_over();
}

void maps_turn_end(struct maps_turn *turn)
{
	if (turn->taken)
		sem_post(&g_turn);
	*turn = (struct maps_turn){ 0 };
}

static bool take_maps_number(char **at, int base, char after, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(*at, &end, base);
	if (end == *at || errno || *end != after)
		return false;
	*at = end + 1;
	return true;
}

/* The kernel escapes newlines, and nothing else, as \012. */
static void unescape_path(char *path)
{
	static const char newline[] = "\\012";
	char *out = path;

	while (*path) {
		if (!strncmp(path, newline, sizeof(newline) - 1)) {
			*out++ = '\n';
			path += sizeof(newline) - 1;
		} else {
			*out++ = *path++;
		}
	}
	*out = '\0';
}

bool maps_parse(char *line, struct maps_line *out)
{
	uint64_t major, minor, inode;
	char *at = line;

	line[strcspn(line, "\n")] = '\0';
	if (!take_maps_number(&at, 16, '-', &out->start) ||
	    !take_maps_number(&at, 16, ' ', &out->end) ||
	    out->end <= out->start || strnlen(at, 5) < 5 || at[4] != ' ')
		return false;
	out->is_writable = at[1] == 'w';
	out->is_executable = at[2] == 'x';
	out->is_shared = at[3] == 's';
	at += 5;
	if (!take_maps_number(&at, 16, ' ', &out->offset) ||
	    !take_maps_number(&at, 16, ':', &major) ||
	    !take_maps_number(&at, 16, ' ', &minor))
		return false;
	/* without a path the line may end after the inode */
	if (!take_maps_number(&at, 10, ' ', &inode)) {
		if (!take_maps_number(&at, 10, '\0', &inode))
			return false;
		at--;
	}
	out->device = makedev((unsigned int)major, (unsigned int)minor);
	out->inode = (ino_t)inode;
	out->path = at + strspn(at, " ");
	unescape_path(out->path);
	return true;
}
