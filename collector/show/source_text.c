/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/source_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/search.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

#define SOURCE_BYTES_MAX ((size_t)16 << 20)

static const char *const suffixes[] = {
	".c",	".h",	".cc",	".cpp", ".cxx", ".c++", ".C",	 ".hh", ".hpp",
	".hxx", ".inl", ".ipp", ".tcc", ".rs",	".go",	".d",	 ".m",	".mm",
	".f",	".f90", ".F90", ".for", ".adb", ".ads", ".s",	 ".S",	".y",
	".l",	".zig", ".nim", ".pas", ".cu",	".ino", ".vala",
};

static bool is_source(const char *path)
{
	const char *dot = strrchr(strrchr(path, '/'), '.');

	if (!dot || strncmp(path, "/proc/", strlen("/proc/")) == 0)
		return false;
	return search_text(dot, suffixes, ARRAY_SIZE(suffixes));
}

int source_text_open(const char *path)
{
	/* The folder of a relative path is unknown. */
	char *real = path[0] == '/' ? realpath(path, NULL) : NULL;
	int fd = real ? -EACCES : path[0] == '/' ? -errno : -ENOENT;

	if (real && is_source(real))
		fd = own_files_open(real);
	free(real);
	return fd;
}

static int read_bytes(int fd, size_t room, struct source_text *out,
		      size_t *length)
{
	*length = 0;
	while (*length < room) {
		ssize_t got = read(fd, out->bytes + *length, room - *length);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		*length += (size_t)got;
	}
	out->bytes[*length] = '\0';
	return 0;
}

static int split_lines(struct source_text *out, size_t length)
{
	static const char mark[] = "\xef\xbb\xbf"; /* UTF-8 byte order mark */
	size_t count = 1;

	for (size_t i = 0; i < length; i++)
		count += out->bytes[i] == '\n';
	out->lines = calloc(count + 1, sizeof(*out->lines));
	if (!out->lines)
		return -ENOMEM;
	for (size_t at = strncmp(out->bytes, mark, 3) ? 0 : 3; at < length;) {
		char *end = memchr(out->bytes + at, '\n', length - at);

		out->lines[out->count++] = out->bytes + at;
		if (!end)
			break;
		*end = '\0';
		if (end > out->bytes + at && end[-1] == '\r')
			end[-1] = '\0';
		at = (size_t)(end - out->bytes) + 1;
	}
	return 0;
}

static int read_source(int fd, struct source_text *out)
{
	struct stat stat;
	size_t length;
	int err;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_size < 0 || (size_t)stat.st_size > SOURCE_BYTES_MAX)
		return -EFBIG;
	out->modified = stat.st_mtim;
	out->bytes = malloc((size_t)stat.st_size + 1);
	if (!out->bytes)
		return -ENOMEM;
	err = read_bytes(fd, (size_t)stat.st_size, out, &length);
	return err ? err : split_lines(out, length);
}

int source_text_read(const char *path, struct source_text *out)
{
	int fd = source_text_open(path), err;

	*out = (struct source_text){ 0 };
	if (fd < 0)
		return fd;
	err = read_source(fd, out);
	close(fd);
	if (err)
		source_text_free(out);
	return err;
}

void source_text_free(struct source_text *source)
{
	free(source->bytes);
	free(source->lines);
	*source = (struct source_text){ 0 };
}
