/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/log.h"

static bool has_file(const char *dir, const char *name)
{
	struct stat status;
	char *path;
	bool found;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return false;
	found = lstat(path, &status) == 0 && S_ISREG(status.st_mode);
	free(path);
	return found;
}

/* A trace alone will do: its collector may have been killed. */
static bool is_recording(const char *dir)
{
	return has_file(dir, "trace.pftrace") || has_file(dir, "summary.json");
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry = NULL;

	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			break;
	closedir(dir);
	return !entry;
}

/* A recording is a folder of plain files: anything else in it stays. */
static void remove_files(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

static void remove_recording(const char *path)
{
	remove_files(path);
	if (rmdir(path) < 0)
		log_warn("cannot remove '%s': %m", path);
}

static void release(struct output_dir *output)
{
	free(output->dir);
	free(output->old);
	free(output->older);
	memset(output, 0, sizeof(*output));
}

static int cannot_move(const char *from, const char *to)
{
	int error = -errno;

	log_err("cannot move '%s' to '%s': %m; choose another folder with -o",
		from, to);
	return error;
}

static int refuse_foreign(const char *path)
{
	log_err("'%s' exists and is no recording: choose another folder with "
		"-o, or move it away",
		path);
	return -EEXIST;
}

static int move_old_aside(struct output_dir *output)
{
	char *older;
	int error;

	if (access(output->old, F_OK) < 0)
		return 0;
	if (!is_recording(output->old))
		return refuse_foreign(output->old);
	if (asprintf(&older, "%s.XXXXXX", output->old) < 0)
		return -ENOMEM;
	/* A folder may be renamed onto an empty one: the name is ours. */
	if (!mkdtemp(older) || rename(output->old, older) < 0) {
		error = cannot_move(output->old, older);
		rmdir(older);
		free(older);
		return error;
	}
	output->older = older;
	return 0;
}

static int move_aside(struct output_dir *output)
{
	struct stat status;
	int error;

	if (lstat(output->dir, &status) < 0)
		return 0;
	output->found_empty = is_empty(output->dir);
	if (output->found_empty)
		return 0;
	if (!is_recording(output->dir))
		return refuse_foreign(output->dir);
	error = move_old_aside(output);
	if (error)
		return error;
	if (rename(output->dir, output->old) < 0)
		return cannot_move(output->dir, output->old);
	output->moved = true;
	return 0;
}

int output_dir_prepare(const char *dir, struct output_dir *out)
{
	struct output_dir output = { .dir = strdup(dir) };
	size_t length = strlen(dir);
	int error = -ENOMEM;

	if (output.dir) {
		while (length > 1 && dir[length - 1] == '/')
			output.dir[--length] = '\0';
		if (asprintf(&output.old, "%s.old", output.dir) < 0)
			output.old = NULL;
	}
	/* *out has it: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	if (output.old)
		error = move_aside(&output);
	if (error) {
		if (output.older)
			rename(output.older, output.old);
		release(&output);
		return error;
	}
	*out = output;
	return 0;
}

void output_dir_commit(struct output_dir *output)
{
	if (output->older)
		remove_recording(output->older);
	release(output);
}

void output_dir_undo(struct output_dir *output)
{
	if (output->found_empty)
		remove_files(output->dir);
	else if (access(output->dir, F_OK) == 0)
		remove_recording(output->dir);
	if (output->moved)
		rename(output->old, output->dir);
	if (output->older)
		rename(output->older, output->old);
	release(output);
}
