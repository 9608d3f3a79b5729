/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_folder - the snapshots of a recording on the disk: each is a folder in
 * the folder "snapshots" of the recording, there whole or not at all, and the
 * oldest are removed when there are too many, or too many bytes of them. Only
 * what was made here is ever removed: not what has another name by now, nor
 * what a person has put a file into.
 *
 * One thread at a time; may wait for the disk.
 */
#ifndef PERFREC_COLLECTOR_FLIGHT_FLIGHT_FOLDER_H
#define PERFREC_COLLECTOR_FLIGHT_FLIGHT_FOLDER_H

#include <stdint.h>

#define FLIGHT_NAME_BYTES 48

struct flight_folder;

/* A snapshot that is being written. */
struct flight_draft {
	int fd; /* its folder: files are made with own_files_create() */
	char name[FLIGHT_NAME_BYTES]; /* that it will have, "0001-101500-call"
				       */
};

/* Keeps @most snapshots at most, and @most_bytes of them. @dir_fd, the folder
 * of the recording, stays the caller's, and outlives *@out, which the caller
 * ends by flight_folder_free(). 0 or -ENOMEM; nothing is made yet. */
int flight_folder_new(int dir_fd, uint32_t most, uint64_t most_bytes,
		      struct flight_folder **out);
/* Frees *@folder, which may be NULL, and sets it to NULL. The disk stays as it
 * is. */
void flight_folder_free(struct flight_folder **folder);

/* Makes the folder of a snapshot, for @why, which is lower case letters. 0: the
 * caller ends *@out by flight_folder_keep() or flight_folder_discard(); or
 * -errno, and nothing is left behind. */
int flight_folder_begin(struct flight_folder *folder, const char *why,
			struct flight_draft *out);
/* All files of @draft are written and closed: waits until they are on the disk,
 * and gives the folder its name. Then removes the oldest snapshots, as many as
 * must go. 0; or -errno, and @draft is discarded; -E2BIG: it has more bytes
 * than all may have. */
int flight_folder_keep(struct flight_folder *folder,
		       struct flight_draft *draft);
/* Removes @draft. */
void flight_folder_discard(struct flight_folder *folder,
			   struct flight_draft *draft);

struct flight_folder_sums {
	uint32_t count; /* that are kept now */
	uint64_t bytes; /* of them */
	uint64_t written, removed;
};
struct flight_folder_sums flight_folder_sums(
	const struct flight_folder *folder);
/* The name of snapshot @at of those that are kept, the oldest first. It belongs
 * to @folder. */
const char *flight_folder_name(const struct flight_folder *folder, uint32_t at);

#endif
