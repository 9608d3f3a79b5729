/* SPDX-License-Identifier: Apache-2.0
 *
 * flight_folder - the snapshots of a recording on disk. Each is a folder below
 * "snapshots" in the folder of the recording, and appears complete or not at
 * all. The oldest snapshots are removed when their number or their bytes exceed
 * a limit. A snapshot stays if a person has renamed it or added a file.
 *
 * One thread at a time; may block on the disk.
 */
#ifndef PERFREC_COLLECTOR_RECORD_FLIGHT_FOLDER_H
#define PERFREC_COLLECTOR_RECORD_FLIGHT_FOLDER_H

#include <stdint.h>

#define FLIGHT_NAME_BYTES 48

struct flight_folder;

struct flight_draft {
	int fd; /* its folder; own_files_create() makes the files */
	/* Its final name, such as "0001-101500-call". */
	char name[FLIGHT_NAME_BYTES];
};

/* Creates *@out for at most @most snapshots of together @most_bytes. @dir_fd,
 * the folder of the recording, belongs to the caller and must outlive *@out.
 * The caller frees *@out with flight_folder_free(). Returns 0 or -ENOMEM;
 * creates nothing on disk. */
int flight_folder_new(int dir_fd, uint32_t most, uint64_t most_bytes,
		      struct flight_folder **out);
void flight_folder_free(struct flight_folder **folder);

/* Creates the folder of a snapshot. @why is the cause in lower case letters.
 * Returns 0, and the caller ends *@out with flight_folder_keep() or
 * flight_folder_discard(); or -errno without files left on disk. */
int flight_folder_begin(struct flight_folder *folder, const char *why,
			struct flight_draft *out);
/* Syncs the files of @draft, all closed by the caller, and gives the folder its
 * name. Then removes the oldest snapshots beyond the limits. Returns 0, or
 * -errno with @draft discarded; -E2BIG: @draft alone exceeds the limit of
 * bytes. */
int flight_folder_keep(struct flight_folder *folder,
		       struct flight_draft *draft);
void flight_folder_discard(struct flight_folder *folder,
			   struct flight_draft *draft);

struct flight_folder_sums {
	uint32_t count; /* snapshots on disk now */
	uint64_t bytes;
	uint64_t written, removed;
};
struct flight_folder_sums flight_folder_sums(
	const struct flight_folder *folder);
/* Returns the name of snapshot @at, counted from the oldest on disk. @folder
 * owns the text. */
const char *flight_folder_name(const struct flight_folder *folder, uint32_t at);

#endif
