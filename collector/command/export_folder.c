/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/export_folder.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/export/tables.h"
#include "collector/output/own_files.h"
#include "collector/output/whole_file.h"

#define OUT_BYTES (256u << 10)

struct folder {
	const char *path;
	bool made; /* created here */
	struct whole_file file[TABLES];
	size_t open; /* number of open files */
};

static int cannot_write(const char *path, int err)
{
	log_err("cannot write '%.2000s': %s (choose another folder with -o)",
		path, strerror(-err));
	return OPTS_FAILED;
}

static int make_table_folder(const struct call_command *call,
			     struct folder *folder)
{
	struct stat recording, status;

	folder->made = mkdir(folder->path, 0777) == 0;
	if (!folder->made && errno != EEXIST)
		return cannot_write(folder->path, -errno);
	if (stat(folder->path, &status) < 0)
		return cannot_write(folder->path, -errno);
	if (!S_ISDIR(status.st_mode))
		return cannot_write(folder->path, -ENOTDIR);
	if (stat(call->dir, &recording) < 0 ||
	    recording.st_dev != status.st_dev ||
	    recording.st_ino != status.st_ino)
		return OPTS_OK;
	log_err("-o '%.2000s': that is the recording itself; choose another "
		"folder",
		folder->path);
	return OPTS_WRONG;
}

static int open_files(struct folder *folder, FILE *out[TABLES])
{
	char path[PATH_MAX];
	int err = 0;

	for (int i = 0; i < TABLES && !err; i++) {
		int length = snprintf(path, sizeof(path), "%s/%s", folder->path,
				      tables_file_name((enum tables_file)i));

		err = length < (int)sizeof(path)
			      ? whole_file_open(path, &folder->file[i])
			      : -ENAMETOOLONG;
		if (err)
			return cannot_write(path, err);
		folder->open++;
		out[i] = folder->file[i].out;
		setvbuf(out[i], NULL, _IOFBF, OUT_BYTES);
	}
	return OPTS_OK;
}

/* If @keep, gives the files their names, otherwise removes them. Returns
 * @status, or OPTS_FAILED after one line. */
static int end_folder(struct folder *folder, int status, bool keep)
{
	bool failed = false;

	/* No file gets its name if another cannot be written. */
	for (size_t i = 0; i < folder->open; i++)
		if (keep && fflush(folder->file[i].out)) {
			status = cannot_write(folder->path, -errno);
			keep = false;
		}
	for (size_t i = 0; i < folder->open; i++) {
		int err = whole_file_close(&folder->file[i],
					   keep ? 0 : -ECANCELED);

		failed |= err && err != -ECANCELED;
	}
	if (failed)
		status = cannot_write(folder->path, -EIO);
	if (folder->made && (failed || !keep))
		(void)rmdir(folder->path);
	return status;
}

struct parts {
	struct summary *summary;
	struct pprof *heap, *blocked;
	char *name;
};

static bool read_profile(const char *dir, const char *name, struct pprof **out)
{
	int err = pprof_read(dir, name, out);

	if (err == -ENOMEM)
		log_err("out of memory");
	return !err || err == -ENOENT;
}

static bool read_exported_parts(const char *dir, struct parts *parts)
{
	char *path;

	if (summary_read(dir, &parts->summary))
		return false;
	path = realpath(dir, NULL);
	parts->name = path ? strdup(strrchr(path, '/') + 1) : NULL;
	free(path);
	if (!parts->name)
		log_err("cannot read '%.2000s': %m", dir);
	return parts->name &&
	       read_profile(dir, HEAP_PROFILE_NAME, &parts->heap) &&
	       read_profile(dir, OFFCPU_PROFILE_NAME, &parts->blocked);
}

/* Writes the tables to @out. Sets *@whole if they have all readable rows.
 * Returns the exit status. */
static int write_tables(struct call_command *call, FILE *out[TABLES],
			bool *whole)
{
	struct tables_source source = { 0 };
	struct parts parts = { 0 };
	int result = OPTS_FAILED;

	call->choice.self_times = true;
	if (read_exported_parts(call->dir, &parts) &&
	    !call_command_open(call, out[TABLE_CALLS], &source.reader)) {
		source.recording = parts.name;
		source.summary = parts.summary;
		source.heap = parts.heap;
		source.blocked = parts.blocked;
		result = tables_write(&source, out);
		*whole = !result || result == -EBADMSG;
		result = call_command_end(call, source.reader, result);
		call_reader_close(&source.reader);
	}
	pprof_free(&parts.blocked);
	pprof_free(&parts.heap);
	summary_free(&parts.summary);
	free(parts.name);
	return result;
}

int export_folder_write(struct call_command *call, const char *path)
{
	struct folder folder = { .path = path };
	FILE *out[TABLES] = { NULL };
	bool whole = false;
	int status = make_table_folder(call, &folder);

	if (status == OPTS_OK)
		status = open_files(&folder, out);
	if (status == OPTS_OK)
		status = write_tables(call, out, &whole);
	return end_folder(&folder, status, whole);
}
