/* SPDX-License-Identifier: Apache-2.0
 *
 * wait_places - names for addresses in the data of programs: "app+0x4080" is
 * the same in each run of the program, and after a fork. One thread.
 */
#ifndef PERFREC_COLLECTOR_SAMPLES_WAIT_PLACES_H
#define PERFREC_COLLECTOR_SAMPLES_WAIT_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_PLACE_BYTES 72

struct wait_places;

/* Returns 0 or -ENOMEM; the caller ends *@out with wait_places_free(). */
int wait_places_new(struct wait_places **out);
/* Accepts NULL. */
void wait_places_free(struct wait_places **places);

/* Writes the name of @address of process @pid to @out: its file, and the
 * virtual address in it, as in nm's output; or only the address if no file is
 * there. Reads /proc/PID/maps if needed, at most ten times a second for a
 * process. */
void wait_places_name(struct wait_places *places, pid_t pid, uint64_t address,
		      char out[WAIT_PLACE_BYTES]);

/* Writes the name of the virtual address @offset of the file @path. */
void wait_places_format(char out[WAIT_PLACE_BYTES], const char *path,
			uint64_t offset);
/* For tests: as wait_places_name() with @maps, the text of a maps file. */
void wait_places_name_by(const char *maps, uint64_t address,
			 char out[WAIT_PLACE_BYTES]);

#endif
