/* SPDX-License-Identifier: Apache-2.0
 *
 * maps - one line of /proc/PID/maps. Pure, any thread.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPS_H
#define PERFREC_COLLECTOR_NAMES_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_line {
	uint64_t start, end; /* addresses; end is the first one beyond */
	uint64_t offset; /* of start in the file */
	dev_t device;
	ino_t inode; /* 0: no file */
	bool is_executable;
	char *path; /* in the line that was parsed; "" */
};

/* Cuts @line up in place: its end and the kernel's escapes are removed from
 * the path. False when it is no line of a map; @line may be changed then. */
bool maps_parse(char *line, struct maps_line *out);

#endif
