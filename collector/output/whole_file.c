/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".XXXXXX"

static bool is_special(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* As the file would have been made by open(2). */
static void set_mode(int fd)
{
	mode_t mask = umask(0);

	umask(mask);
	(void)!fchmod(fd, 0666 & ~mask);
}

/* Opens what is written. Returns a descriptor or -errno. */
static int open_file(struct whole_file *file)
{
	int fd;

	if (is_special(file->path)) {
		free(file->temporary);
		file->temporary = NULL;
		fd = open(file->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	set_mode(fd);
	return fd;
}

static int begin_file(struct whole_file *file, const char *path)
{
	int fd, err;

	file->path = strdup(path);
	if (!file->path || asprintf(&file->temporary, "%s" SUFFIX, path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	fd = open_file(file);
	if (fd < 0)
		return fd;
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	err = -errno;
	close(fd);
	if (file->temporary)
		unlink(file->temporary);
	return err;
}

int whole_file_open(const char *path, struct whole_file *out)
{
	struct whole_file file = { 0 };
	int err = begin_file(&file, path);

	if (err) {
		free(file.path);
		free(file.temporary);
		return err;
	}
	*out = file;
	return 0;
}

int whole_file_close(struct whole_file *file, int err)
{
	if (ferror(file->out) && !err)
		err = -EIO;
	if (fclose(file->out) && !err)
		err = -errno;
	if (file->temporary && !err && rename(file->temporary, file->path))
		err = -errno;
	if (file->temporary && err)
		unlink(file->temporary);
	free(file->path);
	free(file->temporary);
	*file = (struct whole_file){ 0 };
	return err;
}
