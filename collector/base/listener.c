/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/base/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/closer.h"
#include "collector/base/log.h"

#define BACKLOG 128
#define TURN_AWAY_PAUSE_NS 2000000

static bool is_socket(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

/* Returns true if no process listens at @address: a killed collector leaves its
 * socket there. */
static bool is_stale(const struct sockaddr_un *address, int type)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool stale;

	if (fd < 0)
		return false;
	stale = is_socket(address->sun_path) &&
		connect(fd, (const struct sockaddr *)address,
			sizeof(*address)) < 0 &&
		errno == ECONNREFUSED;
	close(fd);
	return stale;
}

static void log_bind_failure(const char *path, const char *option, int err)
{
	if (err == -EADDRINUSE && !is_socket(path))
		log_err("'%s' exists and is no socket (choose another with %s)",
			path, option);
	else if (err == -EADDRINUSE)
		log_err("socket '%s' is in use: another perfrec-collect serves "
			"it (stop that one, or choose another with %s)",
			path, option);
	else if (err == -ENAMETOOLONG)
		log_err("socket path '%.80s...' is too long: %zu bytes, and at "
			"most %zu are possible (choose a shorter one with %s)",
			path, strlen(path), SOCKET_PATH_BYTES - 1, option);
	else
		log_err("cannot bind socket '%s': %s (choose another with %s)",
			path, strerror(-err), option);
}

static int bind_path(int fd, const char *path, int type, bool shared)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct sockaddr *generic = (const struct sockaddr *)&address;
	/* Sets the mode of the socket from the start. */
	mode_t before = umask(shared ? 0111 : 0177);
	int err = 0;

	memcpy(address.sun_path, path, strlen(path) + 1);
	if (bind(fd, generic, sizeof(address)) < 0)
		err = -errno;
	if (err == -EADDRINUSE && is_stale(&address, type)) {
		unlink(path);
		err = bind(fd, generic, sizeof(address)) < 0 ? -errno : 0;
	}
	umask(before);
	return err;
}

int listener_open(const char *path, const char *option, int type, bool shared,
		  struct listener *out)
{
	struct listener new = LISTENER_NONE;
	int err;

	new.fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (new.fd < 0) {
		err = -errno;
		log_err("cannot make a socket: %m");
		return err;
	}
	err = strlen(path) < SOCKET_PATH_BYTES
		      ? bind_path(new.fd, path, type, shared)
		      : -ENAMETOOLONG;
	if (!err) {
		memcpy(new.path, path, strlen(path) + 1);
		err = listen(new.fd, BACKLOG) < 0 ? -errno : 0;
	}
	if (err) {
		log_bind_failure(path, option, err);
		listener_close(&new);
		return err;
	}
	new.spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	*out = new;
	return 0;
}

void listener_close(struct listener *listener)
{
	if (listener->fd >= 0)
		close(listener->fd);
	if (listener->spare_fd >= 0)
		close(listener->spare_fd);
	if (listener->path[0])
		unlink(listener->path);
	*listener = LISTENER_NONE;
}

/* Accepts and closes a connection with the spare descriptor. Another thread may
 * take the descriptor first; then the loop reports the same connection again at
 * once, so pause. */
static void turn_away(struct listener *listener)
{
	const struct timespec pause = { 0, TURN_AWAY_PAUSE_NS };
	int fd;

	if (listener->spare_fd >= 0)
		close(listener->spare_fd);
	fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0)
		closer_close_socket(fd);
	listener->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && listener->spare_fd < 0)
		nanosleep(&pause, NULL);
}

int listener_accept(struct listener *listener)
{
	int fd =
		accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err = fd < 0 ? -errno : 0;

	if (err == -EMFILE || err == -ENFILE)
		turn_away(listener);
	return err ? err : fd;
}

int listener_peer(int connection, pid_t *pid, uid_t *uid)
{
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &credentials,
		       &size) < 0)
		return -errno;
	*pid = credentials.pid;
	*uid = credentials.uid;
	return 0;
}
