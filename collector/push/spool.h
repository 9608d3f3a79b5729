/* SPDX-License-Identifier: Apache-2.0
 *
 * spool - the folder of windows that are still to be sent. A window is a file.
 * perfrec-collect makes it as ".NAME" and then renames it to NAME; perfrec-push
 * removes it. While another server still needs a window, an empty file beside
 * it is the mark of each server that has it.
 */
#ifndef PERFREC_COLLECTOR_PUSH_SPOOL_H
#define PERFREC_COLLECTOR_PUSH_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/push/endpoint.h"
#include "collector/push/schedule.h"

struct spool {
	int fd;
	const struct endpoint *endpoints; /* of the schedule's lanes */
	bool was_scanned; /* marks of later windows are in the schedule */
};

/* Opens the folder and takes its lock. 0; -EBUSY: another perfrec-push has it;
 * or another -errno. */
int spool_open(const char *path, struct spool *out);
void spool_close(struct spool *spool);
/* Removes what a killed perfrec-collect or perfrec-push has left. */
void spool_remove_left(const struct spool *spool);
/* Shows the windows that are new to @schedule. 0 or -errno. */
int spool_scan(struct spool *spool, struct schedule *schedule,
	       const struct schedule_time *now);
/* Removes a window, and its marks of the lanes in @marks. 0 or -errno. */
int spool_remove(const struct spool *spool, const char *name, uint32_t marks);
/* Marks the window as sent to the server of @lane. 0 or -errno. */
int spool_mark(const struct spool *spool, const char *name, uint32_t lane);

#endif
