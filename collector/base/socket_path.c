/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/socket_path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "shared/compiler.h"

#define PRIVATE_PREFIX "/perfrec-"
#define PRIVATE_RANDOM "XXXXXX"
#define PRIVATE_NAME PRIVATE_PREFIX PRIVATE_RANDOM
#define PRIVATE_SOCKET "sock"
/* A younger folder may be about to be used. */
#define STALE_S 60
/* A longer folder leaves no room for a private folder and a socket. */
#define RUNTIME_BYTES_MAX \
	(SOCKET_PATH_MAX - sizeof(PRIVATE_NAME "/" PRIVATE_SOCKET))

static bool is_usable_folder(const char *path, bool all)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode) &&
	       (!all || status.st_mode & S_IXOTH);
}

/* Formats a path into @out and leaves room for the suffix of the other socket.
 * Returns 0, or -ENAMETOOLONG after logging. */
ATTR_PRINTF(2, 3)
static int make_path(char out[SOCKET_PATH_BYTES], const char *format, ...)
{
	char text[4096];
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length <= (int)SOCKET_PATH_MAX) {
		memcpy(out, text, (size_t)length + 1);
		return 0;
	}
	log_err("socket path '%.80s...' is too long: %d bytes, and at most %d "
		"are possible (choose a shorter one with --socket)",
		text, length, (int)SOCKET_PATH_MAX);
	return -ENAMETOOLONG;
}

const char *socket_path_of_environment(void)
{
	const char *path = getenv("PERFREC_SOCKET");

	return path && path[0] ? path : NULL;
}

int socket_path_copy(const char *path, char out[SOCKET_PATH_BYTES])
{
	return make_path(out, "%s", path);
}

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] ? folder : "/tmp";
}

/* Creates @folder in the temporary folder, where another user may have created
 * it before. Returns 0, or -errno after logging. */
static int make_private(const char *folder)
{
	struct stat status;

	if (mkdir(folder, 0700) < 0 && errno != EEXIST) {
		int err = -errno;

		log_err("cannot make folder '%s': %m (see --socket)", folder);
		return err;
	}
	if (lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
	    status.st_uid == geteuid() && !(status.st_mode & 077))
		return 0;
	log_err("folder '%s' is not a private one of this user (see --socket)",
		folder);
	return -EPERM;
}

/* See candidate() in preload/start/hello.c. */
int socket_path_usual(bool make, char out[SOCKET_PATH_BYTES])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char folder[SOCKET_PATH_BYTES];
	int err = 0;

	if (runtime && runtime[0])
		return make_path(out, "%s/perfrec.sock", runtime);
	snprintf(folder, sizeof(folder), "/run/user/%u",
		 (unsigned int)geteuid());
	if (!is_usable_folder(folder, false)) {
		err = make_path(folder, "%s/perfrec-%u", temporary_folder(),
				(unsigned int)geteuid());
		if (!err && make)
			err = make_private(folder);
	}
	return err ? err : make_path(out, "%s/perfrec.sock", folder);
}

static bool is_private_name(const char *folder)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789";
	const size_t length = sizeof(PRIVATE_PREFIX) - 1;
	const char *name = strrchr(folder, '/');

	return name && !strncmp(name, PRIVATE_PREFIX, length) &&
	       strlen(name + length) == sizeof(PRIVATE_RANDOM) - 1 &&
	       !name[length + strspn(name + length, letters)];
}

void socket_path_clean_up(const char *socket)
{
	static const char *const names[] = {
		PRIVATE_SOCKET,
		PRIVATE_SOCKET SOCKET_PATH_CTL,
		PRIVATE_SOCKET SOCKET_PATH_ALL,
	};
	const char *slash = strrchr(socket, '/');
	char folder[SOCKET_PATH_BYTES];
	struct stat status;
	int fd;

	if (!slash || strcmp(slash + 1, PRIVATE_SOCKET) != 0 ||
	    (size_t)(slash - socket) >= sizeof(folder))
		return;
	memcpy(folder, socket, (size_t)(slash - socket));
	folder[slash - socket] = '\0';
	if (!is_private_name(folder))
		return;
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &status) && status.st_uid == geteuid()) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			unlinkat(fd, names[i], 0);
		rmdir(folder);
	}
	close(fd);
}

/* --- leftovers of killed collectors -------------------------------------- */

/* Connects to the socket @path with @suffix, and closes the connection. Returns 0
 * or -errno. */
static int try_connection(const char *path, const char *suffix, int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	snprintf(address.sun_path, sizeof(address.sun_path), "%.*s%s",
		 (int)SOCKET_PATH_MAX, path, suffix);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Returns true if no process listens or will listen at the socket @path: its
 * folder has not changed for a while. */
static bool is_deserted(const char *folder, const char *path)
{
	struct stat status;

	return lstat(folder, &status) == 0 && status.st_uid == geteuid() &&
	       time(NULL) - status.st_mtime >= STALE_S &&
	       try_connection(path, "", SOCK_SEQPACKET) == -ECONNREFUSED;
}

/* Sets @folder and @path to the next private folder in @dir, which is @below, and
 * its socket. Returns false at the end. */
static bool next_private(DIR *dir, const char *below,
			 char folder[SOCKET_PATH_BYTES],
			 char path[SOCKET_PATH_BYTES])
{
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (strlen(entry->d_name) != sizeof(PRIVATE_NAME) - 2)
			continue;
		make_path(folder, "%s/%s", below, entry->d_name);
		make_path(path, "%s/" PRIVATE_SOCKET, folder);
		if (is_private_name(folder))
			return true;
	}
	if (dir)
		closedir(dir);
	return false;
}

/* Removes folders of socket_path_private() in @below whose collectors were
 * killed together with their perfrec. */
static void remove_stale(const char *below)
{
	char folder[SOCKET_PATH_BYTES], path[SOCKET_PATH_BYTES];
	DIR *dir = opendir(below);

	while (next_private(dir, below, folder, path))
		if (is_deserted(folder, path))
			socket_path_clean_up(path);
}

bool socket_path_is_served(const char *path)
{
	int err = try_connection(path, SOCKET_PATH_CTL, SOCK_STREAM);

	return !err || err == -EAGAIN;
}

static const char *private_parent(bool all)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	return runtime && is_usable_folder(runtime, all) &&
			       strlen(runtime) <= RUNTIME_BYTES_MAX
		       ? runtime
		       : temporary_folder();
}

size_t socket_path_running(char out[SOCKET_PATH_BYTES])
{
	const char *below = private_parent(false);
	char folder[SOCKET_PATH_BYTES], path[SOCKET_PATH_BYTES];
	DIR *dir = strlen(below) <= RUNTIME_BYTES_MAX ? opendir(below) : NULL;
	struct stat status;
	size_t count = 0;

	while (next_private(dir, below, folder, path)) {
		if (lstat(folder, &status) < 0 || !S_ISDIR(status.st_mode) ||
		    status.st_uid != geteuid() || !socket_path_is_served(path))
			continue;
		memcpy(out, path, SOCKET_PATH_BYTES);
		count++;
	}
	return count;
}

int socket_path_private(bool all, char folder[SOCKET_PATH_BYTES],
			char out[SOCKET_PATH_BYTES])
{
	const char *below = private_parent(all);
	int err;

	if (strlen(below) > RUNTIME_BYTES_MAX) {
		log_err("the name of folder '%.80s...' is too long for a "
			"socket in it (set TMPDIR to a shorter one)",
			below);
		return -ENAMETOOLONG;
	}
	remove_stale(below);
	make_path(folder, "%s" PRIVATE_NAME, below);
	if (!mkdtemp(folder)) {
		err = -errno;
		log_err("cannot make a folder in '%s': %m (set TMPDIR to one "
			"that can be written)",
			below);
		folder[0] = '\0';
		return err;
	}
	return make_path(out, "%s/" PRIVATE_SOCKET, folder);
}
