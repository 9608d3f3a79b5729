/* SPDX-License-Identifier: Apache-2.0
 *
 * output_dir - the folders DIR (of -o) and DIR.old may belong to a person. Both
 * are checked in full before anything changes; own_files.h lists the files of
 * perfrec. Then folders are only renamed. Files are removed from one folder
 * only, one by one and by name, through a descriptor opened before the check.
 *
 * If DIR is a symbolic link, perfrec records into the folder behind the link,
 * and makes DIR.old beside that folder. perfrec never makes a link, so a link
 * called DIR.old belongs to somebody else.
 */
#include "collector/output/output_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/random.h"
#include "collector/output/folder_lock.h"
#include "collector/output/own_files.h"
#include "collector/output/unwritten.h"

#define ANOTHER "choose another folder with -o"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return path;
	return slash[1] ? slash + 1 : ".";
}

/* --- checks --- */

static int refuse_folder(const char *path, const char *what)
{
	log_err("'%s' %s: " ANOTHER ", or move it away", path, what);
	return -EEXIST;
}

static int cannot_open(const char *path)
{
	int err = -errno;

	log_err("cannot open folder '%s': %m; %s", path,
		unwritten_way_out(err));
	return err;
}

static int refuse_other(const struct output_dir *output, const char *path)
{
	int saved = errno;
	struct stat status;

	if (fstatat(output->parent_fd, last_part(path), &status,
		    AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(status.st_mode))
			return refuse_folder(path, "is a symbolic link");
		if (!S_ISDIR(status.st_mode))
			return refuse_folder(path, "exists and is no folder");
	}
	errno = saved;
	return cannot_open(path);
}

/* *@fd is the caller's; -1: nothing is at @path. Returns 0, or -errno after
 * logging the cause. */
static int open_and_check(const struct output_dir *output, const char *path,
			  int *fd, struct own_files *files)
{
	int err;

	*fd = openat(output->parent_fd, last_part(path),
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*fd < 0)
		return errno == ENOENT ? 0 : refuse_other(output, path);
	err = own_files_look(*fd, files);
	if (err) {
		errno = -err;
		err = cannot_open(path);
	} else if (files->foreign) {
		char more[32] = "";

		if (files->foreign > 1)
			snprintf(more, sizeof(more), " (and %u more)",
				 files->foreign - 1);
		log_err("'%s' holds '%s'%s, which perfrec did not "
			"write: " ANOTHER ", or move it away",
			path, files->first_foreign, more);
		err = -EEXIST;
	} else if (files->own && !files->recorded) {
		err = refuse_folder(path,
				    "exists and is no recording of perfrec");
	}
	if (err)
		close(*fd);
	return err;
}

/* --- moving --- */

static int rename_folder(const struct output_dir *output, const char *from,
			 const char *to)
{
	return renameat(output->parent_fd, last_part(from), output->parent_fd,
			last_part(to));
}

static int cannot_move(const char *from, const char *to)
{
	int err = -errno;

	log_err("cannot move '%s' to '%s': %m; " ANOTHER, from, to);
	return err;
}

/* Moves a recording in DIR.old aside, unless a collector still writes it. */
static int prepare_old(struct output_dir *output)
{
	struct own_files files;
	int err =
		open_and_check(output, output->old, &output->older_fd, &files);
	char *older;

	if (err)
		output->older_fd = -1;
	if (err || output->older_fd < 0)
		return err;
	if (folder_lock_take(output->older_fd) == -EBUSY) {
		log_err("'%s' is still being recorded: " ANOTHER
			", or wait for its end",
			output->old);
		return -EBUSY;
	}
	/* A new, empty folder reserves the name; rename() replaces it. */
	if (asprintf(&older, "%s.%08" PRIx32, output->old,
		     (uint32_t)random_u64()) < 0)
		return -ENOMEM;
	if (mkdirat(output->parent_fd, last_part(older), 0700) < 0) {
		err = cannot_move(output->old, older);
		free(older);
		return err;
	}
	if (rename_folder(output, output->old, older) < 0) {
		err = cannot_move(output->old, older);
		unlinkat(output->parent_fd, last_part(older), AT_REMOVEDIR);
		free(older);
		return err;
	}
	output->older = older;
	return 0;
}

static int move_aside(struct output_dir *output, int fd)
{
	int err;
	struct stat folder, current;

	/* A program started in the moved folder would end up in DIR.old. */
	if (fstat(fd, &folder) == 0 && stat(".", &current) == 0 &&
	    folder.st_dev == current.st_dev &&
	    folder.st_ino == current.st_ino) {
		log_err("'%s' holds a recording and is the current folder, "
			"which cannot move to '%s': " ANOTHER,
			output->dir, output->old);
		return -EBUSY;
	}
	err = prepare_old(output);
	if (err)
		return err;
	output->moved = rename_folder(output, output->dir, output->old) == 0;
	if (output->moved)
		return 0;
	err = cannot_move(output->dir, output->old);
	if (output->older)
		rename_folder(output, output->older, output->old);
	return err;
}

static int move_recording_aside(struct output_dir *output)
{
	struct own_files files;
	int fd, err = open_and_check(output, output->dir, &fd, &files);

	if (err || fd < 0)
		return err;
	output->found_empty = !files.own;
	output->unfinished = files.own && !files.summarized;
	if (files.own)
		err = move_aside(output, fd);
	close(fd);
	return err;
}

/* --- the names --- */

/*
 * Returns @dir without trailing slashes. Returns the real path of a symbolic
 * link, ".", "..", or a path through "..", which may lead through the folder
 * that is about to move. The caller frees the path. Returns NULL with errno
 * set.
 */
static char *resolve_path(const char *dir)
{
	char *path = strdup(dir), *real = NULL;
	size_t length = strlen(dir);
	struct stat status;
	const char *name;
	bool link;
	int saved;

	if (!path)
		return NULL;
	while (length > 1 && path[length - 1] == '/')
		path[--length] = '\0';
	name = last_part(path);
	link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
	if (!link && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
	    (!strstr(path, "/..") || access(path, F_OK) < 0))
		return path;
	real = realpath(path, NULL);
	saved = errno;
	free(path);
	errno = saved;
	return real;
}

static int open_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *parent =
		slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int fd;

	if (!parent)
		return -1;
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(parent);
	return fd;
}

static int init_paths(const char *dir, struct output_dir *output)
{
	int err;

	*output = (struct output_dir){ .parent_fd = -1, .older_fd = -1 };
	output->dir = resolve_path(dir);
	if (!output->dir && errno == ENOENT)
		return refuse_folder(dir,
				     "is a symbolic link that leads nowhere");
	if (output->dir)
		output->parent_fd = open_parent(output->dir);
	if (output->parent_fd < 0) {
		err = -errno;
		assert(err);
		log_err("cannot make folder '%s': %m (choose another with -o)",
			dir);
		return err;
	}
	if (asprintf(&output->old, "%s.old", output->dir) >= 0)
		return 0;
	/* release_paths() frees it:
	 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	output->old = NULL;
	log_err("out of memory");
	return -ENOMEM;
}

static void release_paths(struct output_dir *output)
{
	if (output->parent_fd >= 0)
		close(output->parent_fd);
	if (output->older_fd >= 0)
		close(output->older_fd);
	free(output->dir);
	free(output->old);
	free(output->older);
	*output = (struct output_dir){ .parent_fd = -1, .older_fd = -1 };
}

int output_dir_prepare(const char *dir, struct output_dir *out)
{
	struct output_dir output;
	int err = init_paths(dir, &output);

	if (!err)
		err = move_recording_aside(&output);
	if (err) {
		release_paths(&output);
		return err;
	}
	*out = output;
	return 0;
}

static void remove_folder(const struct output_dir *output, const char *path,
			  int fd)
{
	own_files_remove(fd);
	if (unlinkat(output->parent_fd, last_part(path), AT_REMOVEDIR) < 0)
		log_warn("cannot remove folder '%s', whose recording was "
			 "removed: %m",
			 path);
}

void output_dir_commit(struct output_dir *output, bool quiet)
{
	if (output->unfinished && !quiet)
		log_warn("'%s' held a recording without a summary, which "
			 "still goes on, or whose collector was killed: it is "
			 "kept as '%s', and its trace can be opened",
			 output->dir, output->old);
	if (output->older)
		remove_folder(output, output->older, output->older_fd);
	release_paths(output);
}

void output_dir_undo(struct output_dir *output)
{
	int fd = openat(output->parent_fd, last_part(output->dir),
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	/* The collector may have made files before the program failed to
	 * start. */
	if (fd >= 0) {
		if (output->found_empty)
			own_files_remove(fd);
		else
			remove_folder(output, output->dir, fd);
		close(fd);
	}
	if (output->moved)
		rename_folder(output, output->old, output->dir);
	if (output->older)
		rename_folder(output, output->older, output->old);
	release_paths(output);
}
