/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/random.h"

#define TRIES 100

int whole_file_draft(const char *path, char **name)
{
	int fd = -EEXIST;

	*name = NULL;
	for (int i = 0; i < TRIES && fd == -EEXIST; i++) {
		char *draft;

		if (asprintf(&draft, "%s.%08" PRIx32, path,
			     (uint32_t)random_u64()) < 0)
			return -ENOMEM;
		/* Not mkstemp(3): only open(2) applies the umask, which cannot
		 * be read without changing it for all threads. */
		fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd >= 0) {
			*name = draft;
			return fd;
		}
		fd = -errno;
		free(draft);
	}
	return fd;
}

static bool is_special_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static int open_draft_or_special(struct whole_file *file)
{
	char *draft;
	int fd;

	if (!is_special_file(file->path)) {
		fd = whole_file_draft(file->path, &draft);
		file->temporary = draft;
		return fd;
	}
	fd = open(file->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int begin_file(struct whole_file *file, const char *path)
{
	int fd, err;

	file->path = strdup(path);
	if (!file->path)
		return -ENOMEM;
	fd = open_draft_or_special(file);
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
