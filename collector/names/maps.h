/* SPDX-License-Identifier: Apache-2.0
 *
 * maps - parses one line of /proc/PID/maps, and has long ones read in turn. It
 * reads no file. Any thread may call it.
 */
#ifndef PERFREC_COLLECTOR_NAMES_MAPS_H
#define PERFREC_COLLECTOR_NAMES_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many lines a thread reads for which others wait. That takes 1 ms; the
 * 65,530 that a process may have take 20 ms or more. */
#define MAPS_LINES_SOON 2048

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

/*
 * A thread that reads more lines than that does so in turn with all others,
 * whoever's map it is: a few clients with very many mappings would otherwise
 * take all CPUs. It waits for 10 s at most, as the kernel may hold a reader for
 * ever, and not beyond helper_hurry(). Begins as { 0 }; the caller ends it.
 */
struct maps_turn {
	size_t lines; /* that were read */
	bool taken;
};

/* One more line was read. False: the process shall end, and nobody waits for
 * the rest of a long map. */
bool maps_turn_line(struct maps_turn *turn);
void maps_turn_end(struct maps_turn *turn);

#endif
