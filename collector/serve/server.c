/* SPDX-License-Identifier: Apache-2.0
 *
 * server - the listening socket and its connections.
 *
 * All is done on the main thread, and nothing blocks: sockets and descriptors
 * of others are closed by closer.c. A connection has HELLO_NS to send one
 * message; it gets one answer and is closed. When there are too many, one that
 * has said nothing makes room: the oldest of the process that has most. From
 * users who are not served nothing is received, only answered. Who is at the
 * other end is what the kernel says (SO_PEERCRED, SO_PEERPIDFD), not what the
 * hello says. A program that is refused gets an answer, so that it need not
 * wait for its deadline; and one line in the log names the process and the
 * reason.
 *
 * Unless --socket says otherwise, the socket lies in a folder of this user that
 * nobody else can enter.
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

#include "collector/serve/attach.h"
#include "collector/base/clock.h"
#include "collector/base/closer.h"
#include "collector/base/connections.h"
#include "collector/options/collect_options.h"
#include "collector/record/collector.h"
#include "collector/base/listener.h"
#include "collector/record/cpu_account.h"
#include "collector/record/liveness.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/serve/session.h"
#include "collector/base/socket_path.h"
#include "collector/record/recording.h"
#include "shared/compiler.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define CONNECTIONS_MAX 256
#define FOREIGN_MAX 32
#define PROCESS_MAX 32 /* connections of one process */
#define HELLO_NS 2000000000
#define REST_MAX 1024 /* connections to hear at the end */
#define FDS_MAX 3 /* of a hello: arena, thunks, memory */

#define CLOSERS_FULL "too many files that others have sent cannot be closed"
#define SAID_NOTHING "it connected and said nothing"

/* A program that has connected. */
struct caller {
	struct connection connection;
	struct server *server;
	pid_t pid; /* who it is */
	bool foreign; /* its user is not served */
};

struct server {
	struct watch watch; /* of the listening socket */
	struct collector *collector;
	struct connections callers;
	uint32_t foreign; /* of these */
	struct listener listener;
	char marker[SOCKET_PATH_BYTES]; /* to remove with it; "": none */
	char folder[SOCKET_PATH_BYTES]; /* to remove with it; "": none */
};

/* --- one connection ----------------------------------------------------------
 */

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
	int cut; /* why its descriptors were not taken; 0: they were */
	bool unheard; /* nothing was received, as the closers are full */
};

/* Receive one message. Its descriptors belong to the caller. Returns its length
 * in bytes, or -errno. */
static ssize_t receive_from_peer(int socket, struct received *got)
{
	ssize_t length =
		closer_receive(socket, got->bytes, sizeof(got->bytes), got->fd,
			       FDS_MAX, &got->fd_count, &got->cut);

	got->length = length < 0 ? 0 : (size_t)length;
	return length;
}

/* What is wrong with the form of a hello, or NULL. */
static const char *check_hello(const struct received *got)
{
	if (got->length < offsetof(struct wire_hello, pid) ||
	    got->hello.magic != WIRE_HELLO_MAGIC)
		return "it does not speak as perfrec's shim does";
	/* Another version may have another size. */
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

/* Find out who has connected. Returns why that peer is not served, or NULL. */
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

/*
 * Open a pidfd of the peer; returns why that fails, or NULL. Before Linux 6.5
 * it is opened by the pid, which could have been used again since the peer
 * connected. But then the connection would have ended: the peer still waits.
 */
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
	/* A peer that is gone is noticed by its pidfd. */
	(void)!sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Take in a message of program @pid that says why it is not recorded. False: it
 * is another message. */
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

/* Take in a message of a forked child, @peer. False: it is another message. */
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
	/* The watch is the first member of the first member. */
	struct caller *caller = (struct caller *)watch;
	struct received got = { .unheard = closer_is_full() };
	ssize_t length = 1;

	/* What is not received stays where it is, and ends with the socket. */
	if (!caller->foreign && !got.unheard)
		length = receive_from_peer(watch->fd, &got);
	if (length == -EAGAIN || length == -EINTR)
		return;
	if (length > 0)
		answer_peer(caller, &got);
	for (size_t i = 0; i < got.fd_count; i++)
		closer_close(got.fd[i]);
	connections_end(&caller->server->callers, &caller->connection);
}

/* Log that a peer which never sent a valid hello is refused, and why. */
static void refuse_peer(struct server *server, int socket, const char *why)
{
	pid_t pid = 0;
	uid_t uid;

	listener_peer(socket, &pid, &uid);
	session_log_refusal(server->collector, pid, why);
}

/* Whether @peer, whose user is not served for the reason @wrong (NULL: it is),
 * is one too many. Users whom we do not serve get an answer, too, but only
 * FOREIGN_MAX of them at a time: they must not take the place of others. */
static bool is_crowd(struct server *server, const struct peer *peer,
		     const char *wrong)
{
	if (!wrong || server->foreign < FOREIGN_MAX)
		return false;
	session_log_refusal(server->collector, peer->pid, wrong);
	return true;
}

static const struct caller *caller_of(const struct connection *connection)
{
	/* The connection is the first member. */
	return (const struct caller *)connection;
}

static pid_t caller_pid(const struct connection *connection)
{
	return caller_of(connection)->pid;
}

static bool is_of_process(const struct connection *connection,
			  const void *context)
{
	const pid_t *pid = context;

	return caller_pid(connection) == *pid;
}

/* Makes room for one more connection of process @pid. Who goes has said
 * nothing: a caller that has is answered and ended at once. */
static void make_room(struct server *server, pid_t pid)
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

/* Process @pid has connected, so it has loaded the shim. */
static void note_loaded(const struct collector *collector, pid_t pid)
{
	struct cpu_account *account =
		collector->recording
			? recording_setup(collector->recording)->cpu_account
			: NULL;

	if (account && pid > 0)
		cpu_account_hello(account, pid, clock_boottime_ns());
}

static void server_ready(struct watch *watch)
{
	/* The watch is the first member. */
	struct server *server = (struct server *)watch;
	struct caller *caller;
	struct peer peer;
	const char *wrong;
	int fd = listener_accept(&server->listener);

	if (fd == -EMFILE || fd == -ENFILE)
		session_log_refusal(server->collector, 0,
				    "too many files are open (see ulimit -n)");
	if (fd < 0)
		return;
	wrong = check_peer(server, fd, &peer);
	note_loaded(server->collector, peer.pid);
	caller = calloc(1, sizeof(*caller));
	if (!caller || is_crowd(server, &peer, wrong)) {
		free(caller);
		closer_close_socket(fd);
		return;
	}
	make_room(server, peer.pid);
	caller->server = server;
	caller->pid = peer.pid;
	caller->foreign = wrong;
	server->foreign += caller->foreign;
	connections_add(&server->callers, &caller->connection, fd, caller_ready,
			HELLO_NS);
}

/* Take in what those have said that are connected. */
static void hear_callers(struct server *server)
{
	struct connection *connection = server->callers.first;

	for (; connection; connection = connection->next)
		if (!connection->ended)
			caller_ready(&connection->watch);
}

static void refuse_late_peer(struct connection *connection)
{
	/* The connection is the first member. */
	struct caller *caller = (struct caller *)connection;

	refuse_peer(caller->server, connection->watch.fd, SAID_NOTHING);
}

static void caller_free(struct connection *connection)
{
	/* The connection is the first member. */
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
		server_ready(&server->watch);
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

/* --- the socket
 * --------------------------------------------------------------- */

/*
 * Whether every user may connect. A program that root records may become
 * another user (su). Such a process is refused, but it must be able to connect,
 * so that the summary can say that it ran unrecorded.
 */
static bool serves_all(const struct collect_options *options)
{
	return options->control_fd >= 0 && !options->socket && !geteuid();
}

static int choose_path(struct server *server, char path[SOCKET_PATH_BYTES])
{
	const struct collect_options *options = server->collector->options;
	bool all = serves_all(options);
	int err;

	if (options->socket)
		return socket_path_copy(options->socket, path);
	if (options->control_fd < 0)
		return socket_path_usual(true, path);
	err = socket_path_private(all, server->folder, path);
	if (!err && all)
		/* Without it they cannot ask, no more. */
		(void)!chmod(server->folder, 0711);
	return err;
}

/* Remove the marker at @path that a collector which was killed has left: the
 * socket is ours now. Any other kind of file belongs to somebody, and stays. */
static void remove_stale(const char *path)
{
	struct stat status;

	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	    !status.st_size && status.st_uid == geteuid())
		unlink(path);
}

/* Make the marker. It is made after the socket and removed before it, so that a
 * program which finds the marker finds a collector, too. */
static int put_marker(struct server *server)
{
	char *path = server->marker;
	int fd, err;

	strcpy(path, server->listener.path);
	strcat(path, SOCKET_PATH_ALL);
	remove_stale(path);
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
	/* With others, check_peer() decides. */
	bool shared = server->collector->options->allowed_count > 0 ||
		      serves_all(server->collector->options);
	char path[SOCKET_PATH_BYTES];
	int err = choose_path(server, path);

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
	server->watch = (struct watch){ -1, server_ready };
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
