/* SPDX-License-Identifier: Apache-2.0
 *
 * maps - parses one line of /proc/PID/maps. It keeps no state and reads no
 * file, so any thread may call it.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPS_H
#define PERFREC_COLLECTOR_NAMES_MAPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_line {
	uint64_t start, end; /* the mapping is at addresses start to end - 1 */
	uint64_t offset; /* bytes from the begin of the file to start */
	dev_t device;
	ino_t inode; /* 0: no file is mapped here */
	bool is_executable;
	bool is_shared; /* writes reach the file, or the others who map it */
	char *path; /* points into the line that was parsed; "": no path */
};

/* Parses @line, which ends in NUL, and changes it in place: the newline at its
 * end goes, and "\012" in the path, which is how the kernel writes a newline,
 * becomes a newline. out->path is valid as long as @line. Returns false if
 * @line is no line of such a file; @line may be changed then, too, and *@out
 * has no meaning. */
bool maps_parse(char *line, struct maps_line *out);

#endif
