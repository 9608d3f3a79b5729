/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/trace_command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/search.h"
#include "collector/base/size.h"
#include "collector/options/name_near.h"
#include "collector/options/opts.h"
#include "collector/options/spelling.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "collector/read/summary_snapshot.h"

/* More bytes without an index are worth a line: they take some tenths of a
 * second to read, or seconds if compressed. */
#define UNTOLD_BYTES (32u << 20)
#define THREADS_COMPARED 1000 /* limit of names to compare */

int trace_command_path(const char *dir, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/" TRACE_NAME, dir);

	return length < PATH_MAX ? 0 : -ENAMETOOLONG;
}

bool trace_command_is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_finished(const char *dir)
{
	return own_files_exists(dir, SUMMARY_NAME) || summary_is_snapshot(dir);
}

void trace_command_log_open(const char *dir, int err)
{
	if (err != -ENOENT && err != -ENOTDIR)
		log_err("cannot read '%.2000s/" TRACE_NAME "': %s", dir,
			err == -EBADMSG ? "it is no plain file"
					: strerror(-err));
	else if (own_files_exists(dir, SNAPSHOTS_NAME))
		log_err("'%.2000s' has no " TRACE_NAME
			", as it is of --flight: "
			"name one of its snapshots, which are in "
			"'%.2000s/" SNAPSHOTS_NAME "'",
			dir, dir);
	else if (is_finished(dir))
		log_err("'%.2000s' has no " TRACE_NAME ": that file was moved "
			"or removed, and it has the single calls; perfrec "
			"report shows the rest",
			dir);
	else if (access(dir, F_OK) < 0 && errno == ENOENT)
		log_err("no such folder: '%.2000s' (record first: perfrec "
			"record -o %.2000s -- COMMAND)",
			dir, dir);
	else
		log_err("'%.2000s' is no recording: there is no " TRACE_NAME
			"; give the folder that perfrec record -o named",
			dir);
}

/* --- missing names --- */

static const char **list_functions(const struct trace_reader *trace,
				   bool (*saw)(const void *of, uint32_t text),
				   const void *of, size_t *count)
{
	uint32_t texts = trace_reader_texts(trace);
	const char **names = calloc((size_t)texts + 1, sizeof(*names));

	*count = 0;
	for (uint32_t i = 1; names && i <= texts; i++)
		if (saw(of, i))
			names[(*count)++] = trace_reader_text(trace, i);
	return names;
}

void trace_command_say_function(const char *name, const char *word,
				const struct trace_reader *trace,
				bool (*saw)(const void *of, uint32_t text),
				const void *of)
{
	size_t count;
	const char **names = list_functions(trace, saw, of, &count);
	char *near = names ? name_near(word, names, count) : NULL;

	if (near)
		log_err("%s '%.200s': no function of the trace matches: did "
			"you mean '%.200s'?",
			name, word, near);
	else if (names && !count)
		log_err("%s '%.200s': there are no calls to search (perfrec "
			"report --view cpu shows programs without)",
			name, word);
	else
		log_err("%s '%.200s': no function of the trace matches", name,
			word);
	free(near);
	free(names);
}

void trace_command_say_thread(const char *word,
			      const struct trace_reader *trace)
{
	const char *names[THREADS_COMPARED], *near;
	const struct trace_track *track;
	size_t count = 0;

	for (uint32_t i = 0; count < THREADS_COMPARED &&
			     (track = trace_reader_track(trace, i)) != NULL;
	     i++) {
		const char *name = trace_reader_text(trace, track->name);

		if (track->kind == TRACE_TRACK_THREAD && name[0] &&
		    !search_text(name, names, count))
			names[count++] = name;
	}
	near = spelling_nearest(word, strlen(word), names, count);
	if (near)
		log_err("--thread '%.200s': no thread has that number or name: "
			"did you mean '%.200s'?",
			word, near);
	else
		log_err("--thread '%.200s': no thread has that number or name",
			word);
}

/* --- the end --- */

void trace_command_say_short(const struct trace_reader *trace)
{
	uint64_t min_ns = trace_reader_min_duration(trace);
	char text[SIZE_TEXT];

	if (min_ns)
		log_info("calls shorter than %s are not in the trace: it was "
			 "recorded with --min-duration",
			 size_format_ns(min_ns, text));
}

void trace_command_say_index(const char *dir, uint64_t told, uint64_t bytes)
{
	char size[SIZE_TEXT];

	if (bytes <= told || bytes - told < UNTOLD_BYTES)
		return;
	/* The index is not written yet. */
	if (folder_lock_test(dir) == -EBUSY)
		return;
	log_info("%s of the trace were read, because %s: perfrec index %.2000s "
		 "makes an index that avoids this",
		 size_format_bytes(bytes - told, size),
		 told ? "its index ends early" : "it has no index that fits",
		 dir);
}

static bool is_repaired(const char *dir)
{
	struct summary *summary;
	bool rebuilt;

	if (summary_read(dir, &summary))
		return false;
	rebuilt = summary->rebuilt;
	summary_free(&summary);
	return rebuilt;
}

int trace_command_check(const char *dir, int err,
			const struct trace_read_totals *totals)
{
	uint64_t bad;
	bool finished;
	int status;

	if (err == -EBADMSG && totals->packets) {
		log_err("'%.2000s/" TRACE_NAME "' is damaged from byte %" PRIu64
			" of %" PRIu64 " on: the rest is missing",
			dir, totals->at, totals->size);
		return OPTS_FAILED;
	}
	if (err && err != -EBADMSG) {
		log_err("cannot read '%.2000s/" TRACE_NAME "': %s", dir,
			strerror(-err));
		return OPTS_FAILED;
	}
	bad = totals->bad_bundles + totals->bad_events + totals->refused;
	finished = is_finished(dir);
	status = OPTS_OK;
	if (!totals->packets) {
		log_err("'%.2000s/" TRACE_NAME "' is no trace, or is empty",
			dir);
		return OPTS_FAILED;
	}
	if (!finished)
		log_warn("'%.2000s' is no finished recording: %s; this is what "
			 "its trace has so far",
			 dir,
			 folder_lock_test(dir) == -EBUSY
				 ? "it still goes on"
				 : "its collector was killed");
	if (totals->cut && finished) {
		if (is_repaired(dir)) {
			log_warn("'%.2000s/" TRACE_NAME "' ends in %" PRIu64
				 " bytes of half a packet, because its "
				 "collector was killed",
				 dir, totals->cut);
			status = OPTS_OK;
		} else {
			log_err("'%.2000s/" TRACE_NAME
				"' was cut: its last %" PRIu64
				" bytes are a part of a packet, and the rest "
				"is missing",
				dir, totals->cut);
			status = OPTS_FAILED;
		}
	}
	if (bad)
		log_err("'%.2000s/" TRACE_NAME "' is damaged: %" PRIu64
			" parts of it were left out",
			dir, bad);
	return bad ? OPTS_FAILED : status;
}
