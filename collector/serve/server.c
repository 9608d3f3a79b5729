/* SPDX-License-Identifier: Apache-2.0
 *
 * server - the listening socket and its connections.
 *
 * Runs on the main thread and never blocks; closer.c closes sockets and
 * descriptors of clients. A connection has HELLO_NS to send one message, gets
 * one answer and is closed. If there are too many, the server evicts a silent
 * one: the oldest of the process with the most. Users who are not served get an
 * answer, but their messages are not received. The kernel identifies the peer
 * (SO_PEERCRED, SO_PEERPIDFD), not the hello. A refused program also gets an
 * answer, so it need not wait for its deadline; the log names the process and
 * the reason.
 *
 * By default the socket lies in a folder that only this user can enter.
 */
#include "collector/serve/server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/closer.h"
#include "collector/base/connections.h"
#include "collector/base/listener.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/base/socket_path.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/record/cpu_account.h"
#include "collector/record/liveness.h"
#include "collector/record/recording.h"
#include "collector/serve/attach.h"
#include "collector/serve/session.h"
#include "shared/compiler.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define CONNECTIONS_MAX 256
#define FOREIGN_MAX 32
#define PROCESS_MAX 32 /* connections of one process */
#define HELLO_NS 2000000000
#define REST_MAX 1024 /* connections to receive from at the end */
#define FDS_MAX 3 /* of a hello: arena, thunks, memory */

#define CLOSERS_FULL "too many files that others have sent cannot be closed"
#define NO_MEMORY "out of memory"
#define SAID_NOTHING "it connected and said nothing"

struct caller {
	struct connection connection; /* must be first */
	struct server *server;
	pid_t pid;
	bool foreign; /* its user is not served */
};

struct server {
	struct watch watch; /* of the listening socket; must be first */
	struct collector *collector;
	struct connections callers;
	uint32_t foreign; /* number of foreign callers */
	struct listener listener;
	char marker[SOCKET_PATH_BYTES]; /* removed with the socket; "": none */
	char folder[SOCKET_PATH_BYTES]; /* removed with the socket; "": none */
};

/* --- one connection ------------------------------------------------------ */

struct received {
	union {
		struct wire_hello hello;
		struct wire_regret regret;
		struct wire_child child;
		char bytes[sizeof(struct wire_hello) + 1];
	};
	size_t length;
	int fd[FDS_MAX];
	size_t fd_count;
	int cut; /* error that dropped descriptors, or 0 */
	bool unheard; /* not received, because the closers are full */
};

static const char *check_hello(const struct received *got)
{
	if (got->length < offsetof(struct wire_hello, pid) ||
	    got->hello.magic != WIRE_HELLO_MAGIC)
		return "it does not speak as perfrec's shim does";
	/* Other versions may have other sizes. */
	if (got->hello.version != WIRE_VERSION)
		return NULL;
	if (got->length != sizeof(got->hello))
		return "its hello has the wrong size";
	if (got->cut == -EMFILE)
		return "too many files are open (see ulimit -n)";
	if (got->hello.fds & ~(uint32_t)(WIRE_FD_THUNKS | WIRE_FD_MEMORY) ||
	    got->fd_count != 1u + (uint32_t)__builtin_popcount(got->hello.fds))
		return "its hello carries other descriptors than it says";
	return NULL;
}

static const char *check_peer(const struct server *server, int socket,
			      struct peer *peer)
{
	const struct collect_options *options = server->collector->options;

	*peer = (struct peer){ .pidfd = -1 };
	if (listener_peer(socket, &peer->pid, &peer->uid) < 0)
		return "the kernel does not say who it is";
	if (peer->pid <= 0)
		return "it is in a pid namespace that cannot be seen from here";
	if (peer->uid == geteuid())
		return NULL;
	for (size_t i = 0; i < options->allowed_count; i++)
		if (peer->uid == options->allowed[i])
			return NULL;
	return options->control_fd >= 0
		       ? "it runs as another user"
		       : "it runs as another user (see --allow-uid)";
}

/* Opens a pidfd of the peer. Returns the error or NULL. Before Linux 6.5 it is
 * opened by pid. That pid may have been reused since the peer connected, but
 * then the connection is closed: a live peer still waits. */
static const char *open_peer(int socket, struct peer *peer)
{
	struct pollfd hangup = { .fd = socket };
	socklen_t size = sizeof(peer->pidfd);

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &peer->pidfd, &size) ==
	    0)
		return NULL;
	peer->pidfd = (int)syscall(SYS_pidfd_open, peer->pid, 0);
	if (peer->pidfd < 0 && (errno == EMFILE || errno == ENFILE))
		return "too many files are open (see ulimit -n)";
	if (peer->pidfd >= 0 && poll(&hangup, 1, 0) == 0)
		return NULL;
	return "it ended before the collector could answer";
}

static bool note_regret(struct server *server, const struct received *got,
			pid_t pid)
{
	static const char *const why[] = {
		[WIRE_REGRET_LIMITS] =
			"its ulimit -v or ulimit -f leaves no room for rings",
		[WIRE_REGRET_MEMFD] = "it cannot make memory for its rings",
		[WIRE_REGRET_MAP] = "it cannot map memory for its rings",
	};

	if (got->length != sizeof(got->regret) ||
	    got->regret.magic != WIRE_REGRET_MAGIC)
		return false;
	session_log_refusal(server->collector, pid,
			    got->regret.why < ARRAY_SIZE(why) &&
					    why[got->regret.why]
				    ? why[got->regret.why]
				    : "it cannot have rings");
	return true;
}

static bool note_child(struct server *server, const struct received *got,
		       const struct peer *peer)
{
	if (got->length != sizeof(got->child) ||
	    got->child.magic != WIRE_CHILD_MAGIC)
		return false;
	if (got->child.version == WIRE_VERSION && got->fd_count == 1)
		attach_child(server->collector, &got->child, got->fd[0], peer);
	return true;
}

static void send_reply(const struct server *server, int socket,
		       const struct wire_reply *reply)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { CMSG_LEN(sizeof(int)), SOL_SOCKET,
				  SCM_RIGHTS } };
	struct iovec data = { (void *)reply, sizeof(*reply) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };
	int fd = liveness_fd(server->collector->liveness);

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	if (reply->status == WIRE_ACCEPTED) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control);
	}
	/* The pidfd reports a peer that is gone. */
	(void)!sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_peer(struct caller *caller, const struct received *got)
{
	struct server *server = caller->server;
	struct collector *collector = server->collector;
	int socket = caller->connection.watch.fd;
	struct arena *arena = NULL;
	struct wire_reply reply;
	struct peer peer;
	const char *wrong = check_peer(server, socket, &peer);

	if (!wrong && (note_regret(server, got, peer.pid) ||
		       note_child(server, got, &peer)))
		return;
	if (!wrong && got->unheard)
		wrong = CLOSERS_FULL;
	if (!wrong)
		wrong = check_hello(got);
	if (!wrong)
		wrong = open_peer(socket, &peer);
	if (wrong) {
		session_log_refusal(collector, peer.pid, wrong);
		reply = (struct wire_reply){ .magic = WIRE_REPLY_MAGIC,
					     .version = WIRE_VERSION,
					     .status = WIRE_REFUSED_ARENA };
	} else {
		attach_hello(collector, &got->hello, got->fd, &peer, &reply,
			     &arena);
	}
	send_reply(server, socket, &reply);
	if (arena)
		attach_complete(collector, arena);
	if (peer.pidfd >= 0)
		close(peer.pidfd);
}

static void caller_ready(struct watch *watch)
{
	struct caller *caller = (struct caller *)watch;
	struct received got = { .unheard = closer_is_full() };
	ssize_t length = 1;

	/* Closing the socket discards an unreceived message. */
	if (!caller->foreign && !got.unheard) {
		length = closer_receive(watch->fd, got.bytes, sizeof(got.bytes),
					got.fd, FDS_MAX, &got.fd_count,
					&got.cut);
		got.length = length < 0 ? 0 : (size_t)length;
	}
	if (length == -EAGAIN || length == -EINTR)
		return;
	if (length > 0)
		answer_peer(caller, &got);
	for (size_t i = 0; i < got.fd_count; i++)
		closer_close(got.fd[i]);
	connections_end(&caller->server->callers, &caller->connection);
}

/* Returns true if too many foreign users are connected to accept @peer. @wrong
 * is the reason why its user is not served, or NULL. Only FOREIGN_MAX foreign
 * users get answers at a time, which leaves room for users who are served. */
static bool is_crowd(struct server *server, const struct peer *peer,
		     const char *wrong)
{
	if (!wrong || server->foreign < FOREIGN_MAX)
		return false;
	session_log_refusal(server->collector, peer->pid, wrong);
	return true;
}

static pid_t caller_pid(const struct connection *connection)
{
	return ((const struct caller *)connection)->pid;
}

static bool is_of_process(const struct connection *connection,
			  const void *context)
{
	const pid_t *pid = context;

	return caller_pid(connection) == *pid;
}

/* Evicts a connection for a new one of process @pid. All existing ones are
 * silent, because a caller is answered and closed after its message. */
static void make_caller_room(struct server *server, pid_t pid)
{
	struct connections *callers = &server->callers;
	struct connection *old = NULL;

	if (connections_of(callers, caller_pid, pid) >= PROCESS_MAX)
		old = connections_oldest(callers, is_of_process, &pid);
	else if (callers->count >= CONNECTIONS_MAX)
		old = connections_of_most(callers, caller_pid);
	if (!old)
		return;
	session_log_refusal(server->collector, caller_pid(old), SAID_NOTHING);
	connections_end(callers, old);
}

static void caller_waits_ready(struct watch *watch)
{
	struct server *server = (struct server *)watch;
	struct caller *caller;
	struct peer peer;
	const char *wrong;
	int fd = listener_accept(&server->listener);
	struct cpu_account *account;

	if (fd == -EMFILE || fd == -ENFILE)
		session_log_refusal(server->collector, 0,
				    "too many files are open (see ulimit -n)");
	if (fd < 0)
		return;
	wrong = check_peer(server, fd, &peer);
	/* The process has loaded the shim, because it has connected. */
	account = server->collector->recording
			  ? recording_setup(server->collector->recording)
				    ->cpu_account
			  : NULL;
	if (account && peer.pid > 0)
		cpu_account_hello(account, peer.pid, clock_boottime_ns());
	caller = calloc(1, sizeof(*caller));
	if (!caller)
		session_log_refusal(server->collector, peer.pid, NO_MEMORY);
	if (!caller || is_crowd(server, &peer, wrong)) {
		free(caller);
		closer_close_socket(fd);
		return;
	}
	make_caller_room(server, peer.pid);
	caller->server = server;
	caller->pid = peer.pid;
	caller->foreign = wrong;
	server->foreign += caller->foreign;
	connections_add(&server->callers, &caller->connection, fd, caller_ready,
			HELLO_NS);
}

static void hear_callers(struct server *server)
{
	struct connection *connection = server->callers.first;

	for (; connection; connection = connection->next)
		if (!connection->ended)
			caller_ready(&connection->watch);
}

static void refuse_late_peer(struct connection *connection)
{
	struct caller *caller = (struct caller *)connection;
	pid_t pid = 0;
	uid_t uid;

	listener_peer(connection->watch.fd, &pid, &uid);
	session_log_refusal(caller->server->collector, pid, SAID_NOTHING);
}

static void caller_free(struct connection *connection)
{
	struct caller *caller = (struct caller *)connection;

	caller->server->foreign -= caller->foreign;
	free(caller);
}

void server_reap(struct server *server)
{
	connections_reap(&server->callers, refuse_late_peer, caller_free);
}

void server_hear_rest(struct server *server)
{
	struct pollfd waiting = { .fd = server->listener.fd, .events = POLLIN };

	for (int i = 0; i < REST_MAX && poll(&waiting, 1, 0) > 0; i++) {
		caller_waits_ready(&server->watch);
		hear_callers(server);
		server_reap(server);
	}
	hear_callers(server);
	server_reap(server);
}

bool server_has_connections(const struct server *server)
{
	return server->callers.count > 0;
}

/* --- the socket ---------------------------------------------------------- */

/* Returns true if every user may connect. A program recorded by root may change
 * its user (su). The collector refuses such a process, but the process must be
 * able to connect so the summary can report it. */
static bool serves_all(const struct collect_options *options)
{
	return options->control_fd >= 0 && !options->socket && !geteuid();
}

static int choose_socket_path(struct server *server,
			      char path[SOCKET_PATH_BYTES])
{
	const struct collect_options *options = server->collector->options;
	const char *chosen = options->socket;
	bool all = serves_all(options);
	int err;

	/* perfrec record may itself be recorded by another collector. */
	if (!chosen && options->control_fd < 0)
		chosen = socket_path_of_environment();
	if (chosen)
		return socket_path_copy(chosen, path);
	if (options->control_fd < 0)
		return socket_path_usual(true, path);
	err = socket_path_private(all, server->folder, path);
	if (!err && all)
		/* On failure other users just cannot connect. */
		(void)!chmod(server->folder, 0711);
	return err;
}

/* Creates the marker, after the socket. It is removed before the socket, so a
 * program that finds the marker also finds a collector. */
static int put_marker(struct server *server)
{
	char *path = server->marker;
	int fd, err;
	struct stat status;

	strcpy(path, server->listener.path);
	strcat(path, SOCKET_PATH_ALL);
	/* A killed collector may have left its marker; the socket is ours
	 * now. Any other file stays. */
	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    !status.st_size && status.st_uid == geteuid())
		unlink(path);
	if (!collect_options_want_all(server->collector->options)) {
		path[0] = '\0';
		return 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0600);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	err = -errno;
	log_err("cannot make '%s': %m (choose another socket with --socket)",
		path);
	path[0] = '\0';
	return err;
}

static int listen_on(struct server *server)
{
	/* check_peer() decides about other users. */
	bool shared = server->collector->options->allowed_count > 0 ||
		      serves_all(server->collector->options);
	char path[SOCKET_PATH_BYTES];
	int err = choose_socket_path(server, path);

	if (!err)
		err = listener_open(path, "--socket", SOCK_SEQPACKET, shared,
				    &server->listener);
	if (!err)
		err = put_marker(server);
	if (err)
		return err;
	server->watch.fd = server->listener.fd;
	return loop_add(server->collector->loop, &server->watch);
}

int server_new(struct collector *collector, struct server **out)
{
	struct server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	server->collector = collector;
	server->callers.loop = collector->loop;
	server->listener = LISTENER_NONE;
	server->watch = (struct watch){ -1, caller_waits_ready };
	err = listen_on(server);
	if (err) {
		server_free(&server);
		return err;
	}
	*out = server;
	return 0;
}

void server_free(struct server **server)
{
	struct server *old = *server;

	*server = NULL;
	if (!old)
		return;
	connections_close(&old->callers, caller_free);
	if (old->marker[0])
		unlink(old->marker);
	listener_close(&old->listener);
	if (old->folder[0])
		rmdir(old->folder);
	free(old);
}

const char *server_path(const struct server *server)
{
	return server->listener.path;
}
