/* SPDX-License-Identifier: Apache-2.0
 *
 * maps - parses lines of /proc/PID/maps, and lets threads take turns at long
 * maps. Any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPS_H
#define PERFREC_COLLECTOR_NAMES_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Lines that a thread may read out of turn, in 1 ms. The 65,530 lines that a
 * process may have take 20 ms or more. */
#define MAPS_LINES_SOON 2048

struct maps_line {
	uint64_t start, end; /* addresses [start, end) */
	uint64_t offset;
	dev_t device;
	ino_t inode; /* 0: no file */
	bool is_writable;
	bool is_executable;
	bool is_shared; /* writes reach the file or other users */
	char *path; /* in the parsed line; "" */
};

/* Parses @line and changes it: drops the newline, and replaces "\012" in the
 * path, the kernel's escape. out->path points into @line. Returns false for a
 * malformed line, which may be changed. */
bool maps_parse(char *line, struct maps_line *out);

/* Limits the readers of long maps to one thread, as clients with very many
 * mappings could use all CPUs. Waits 10 s at most, since the kernel may block a
 * reader forever, and not beyond helper_hurry(). Initialize to zero. */
struct maps_turn {
	size_t lines;
	bool taken;
};

/* Returns false if the process ends, to skip the rest. */
bool maps_turn_line(struct maps_turn *turn);
void maps_turn_end(struct maps_turn *turn);

#endif
