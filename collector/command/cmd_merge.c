/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_merge.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/command/trace_command.h"
#include "collector/export/merge.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/output/whole_file.h"
#include "collector/read/summary_read.h"

#define FILES_MAX 1000

struct merge_line {
	const char *file;
	struct merge merge;
	struct stat *identities;
};

static int take_merge_option(void *to, const struct opts_value *value)
{
	struct merge_line *line = to;

	assert(value->id == OPT_MERGE_FILE);
	line->file = value->text;
	return OPTS_GO_ON;
}

/* --- the recordings ------------------------------------------------------ */

static int read_merged_trace(const char *name, struct merge_file *file,
			     struct stat *identity)
{
	char path[PATH_MAX];
	int err = 0;
	struct stat status;
	bool folder = stat(name, &status) == 0 && S_ISDIR(status.st_mode);

	*file = (struct merge_file){ .name = name, .path = name, .rank = -1 };
	if (folder) {
		err = trace_command_path(name, path);
		file->path = strdup(path);
		if (!file->path)
			err = -ENOMEM;
	}
	if (!err)
		err = trace_origin_read(file->path, &file->origin);
	if (!err && stat(file->path, identity) < 0)
		err = -errno;
	if (err) {
		if (err == -ENODATA)
			log_err("'%.2000s' has no clock snapshot with BOOTTIME "
				"and REALTIME near its start, or is empty: its "
				"place on a timeline is not known; leave it "
				"out",
				file->path);
		else if (err == -EBADMSG)
			log_err("'%.2000s' is no trace of Perfetto: leave it "
				"out",
				file->path);
		else if (folder)
			trace_command_log_open(file->name, err);
		else
			log_err("cannot read '%.2000s': %s; give folders of "
				"recordings, or traces",
				file->path, strerror(-err));
	} else if (folder) {
		/* A running recording, or one with a killed collector, has no
		 * summary. */
		struct summary *summary;

		snprintf(path, sizeof(path), "%s/" SUMMARY_NAME, file->name);
		if (access(path, F_OK) < 0) {
			log_info("'%.2000s' has no " SUMMARY_NAME
				 ": its trace is taken as far as it is "
				 "written, without a rank",
				 file->name);
		} else if (!summary_read(file->name, &summary)) {
			if (summary->first_rank == summary->last_rank)
				file->rank = summary->first_rank;
			summary_free(&summary);
		}
	}
	return err;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns 0, or -EEXIST after one line: trace @i is a duplicate of an earlier
 * one, or the archive would overwrite it. */
static int check_merged_file(const struct merge_line *line, size_t i)
{
	const struct stat *identity = &line->identities[i];
	const struct merge_file *files = line->merge.files;
	struct stat out;

	for (size_t k = 0; k < i; k++)
		if (is_same_inode(&line->identities[k], identity)) {
			log_err("'%.2000s' and '%.2000s' are the same "
				"recording: leave out one",
				files[k].name, files[i].name);
			return -EEXIST;
		}
	if (!own_files_has(files[i].name, line->file) &&
	    (stat(line->file, &out) < 0 || !is_same_inode(&out, identity)))
		return 0;
	log_err("-o '%.2000s': that is a file of the recording '%.2000s'; "
		"choose another name",
		line->file, files[i].name);
	return -EEXIST;
}

static int read_files(char **names, struct merge_line *line)
{
	struct merge *merge = &line->merge;
	size_t count = merge->count;

	merge->files = calloc(count, sizeof(*merge->files));
	line->identities = calloc(count, sizeof(*line->identities));
	if (!merge->files || !line->identities) {
		log_err("out of memory");
		return OPTS_FAILED;
	}
	for (size_t i = 0; i < count; i++) {
		if (read_merged_trace(names[i], &merge->files[i],
				      &line->identities[i]))
			return OPTS_FAILED;
		if (check_merged_file(line, i))
			return OPTS_WRONG;
	}
	return OPTS_GO_ON;
}

/* --- writing ------------------------------------------------------------- */

static int write_archive(struct merge_line *line)
{
	int err = -ENOMEM, read_err = 0;
	size_t which = 0;
	char *manifest;

	merge_plan(&line->merge);
	manifest = merge_manifest(&line->merge);
	if (manifest) {
		struct whole_file file;

		err = whole_file_open(line->file, &file);
		if (!err) {
			read_err = merge_write(&line->merge, manifest, file.out,
					       &which);
			err = whole_file_close(&file, read_err);
		}
	}
	free(manifest);
	if (!err) {
		const struct merge *merge = &line->merge;
		char bytes[SIZE_TEXT];
		struct stat status;

		text_out(line->file, stdout);
		printf(": %zu recording%s", merge->count,
		       merge->count == 1 ? "" : "s");
		if (stat(line->file, &status) == 0 && S_ISREG(status.st_mode))
			printf(", %s",
			       size_format_bytes((uint64_t)status.st_size,
						 bytes));
		printf("\n  clocks     %s\n",
		       merge->boots == 1
			       ? "all of one boot of one machine: exact"
			       : "of one boot exact, else as good as the wall "
				 "clocks of the machines");
		for (size_t i = 0; i < merge->count; i++) {
			fputs("  ", stdout);
			text_out(merge->files[i].machine, stdout);
			fputs(": ", stdout);
			text_out(merge->files[i].name, stdout);
			fputc('\n', stdout);
		}
		printf("  open it in https://ui.perfetto.dev (v58 or later)\n");
		return text_out_finish() ? OPTS_FAILED : OPTS_OK;
	}
	if (read_err)
		log_err("cannot read '%.2000s' to its end: %s",
			line->merge.files[which].path, strerror(-read_err));
	else
		log_err("cannot write '%.2000s': %s", line->file,
			strerror(-err));
	return OPTS_FAILED;
}

int cmd_merge(int argc, char **argv)
{
	struct merge_line line = { 0 };
	const struct merge *merge;
	int result =
		opts_parse(CMD_MERGE, argc, argv, take_merge_option, &line);

	if (result != OPTS_GO_ON)
		return result;
	line.merge.count = (size_t)(argc - optind);
	if (!line.merge.count || line.merge.count > FILES_MAX) {
		log_err("give 1 to %d recordings", FILES_MAX);
		return OPTS_WRONG;
	}
	if (!line.file) {
		log_err("give the archive to write: -o FILE");
		return OPTS_WRONG;
	}
	result = read_files(argv + optind, &line);
	if (result == OPTS_GO_ON)
		result = write_archive(&line);
	merge = &line.merge;
	for (size_t i = 0; merge->files && i < merge->count; i++)
		if (merge->files[i].path != merge->files[i].name)
			free((char *)merge->files[i].path);
	free(merge->files);
	free(line.identities);
	return result;
}
