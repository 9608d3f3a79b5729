/* SPDX-License-Identifier: Apache-2.0
 *
 * window - one window of the spool in memory: the profiles of a program for
 * some seconds, and the attributes of the program.
 */
#ifndef PERFREC_COLLECTOR_PUSH_WINDOW_H
#define PERFREC_COLLECTOR_PUSH_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/bytes.h"
#include "collector/push/labels.h"
#include "collector/read/pprof_read.h"

struct push_attribute {
	char *name, *value;
};

/* A kind of profile, and what Pyroscope's user interface calls it. */
struct push_kind {
	const char *name; /* in a window */
	const char *metric; /* the label __name__ */
	struct pprof_type period; /* "": none */
};

#define WINDOW_KINDS 6
extern const struct push_kind window_kinds[WINDOW_KINDS];

struct push_window {
	const char *name; /* of its file; the caller's */
	uint64_t start_ns, duration_ns, hz;
	char *service; /* service.name, never empty */
	struct push_attribute *attributes; /* of the resource */
	size_t attribute_count;
	/* Profiles, in one of two forms; both empty: there is none. As files of
	 * pprof, gzipped or not, they are within all limits of the servers. */
	struct pprof *profiles[WINDOW_KINDS];
	struct push_file {
		const uint8_t *at; /* in @text */
		size_t count;
	} files[WINDOW_KINDS];
	struct bytes text; /* of its file */
};

/* Reads the window @name of the folder @spool. @with_pid: the attribute
 * process.pid stays. @keeps_files: profiles that fit stay as they are. Returns
 * 0, and the caller ends *@out with window_free(); -ENOMEM; or another -errno:
 * it is no window. */
int window_read(const char *spool, const char *name, bool with_pid,
		bool keeps_files, struct push_window *out);
/* Whether it has profile @kind. */
bool window_has(const struct push_window *window, size_t kind);
/* Whether the file, which is a profile, is gzipped. */
bool window_file_is_gzipped(const struct push_file *file);
void window_free(struct push_window *window);

/* Fills @out with the labels of profiles of @kind; @pyroscope: also the label
 * that says that they are deltas. The caller ends it with labels_release(). 0
 * or -ENOMEM. */
int window_labels(const struct push_window *window,
		  const struct push_kind *kind, bool pyroscope,
		  struct labels *out);
/* Sixteen bytes that are always the same for profile @kind of @window, and
 * for no other: what a server can know it by when it comes twice. @part tells
 * the types of its values apart. */
void window_id(const struct push_window *window, size_t kind, uint32_t part,
	       uint8_t id[16]);

#endif
