/* SPDX-License-Identifier: Apache-2.0
 *
 * ctl_server - runs on the main thread and never blocks. States of a
 * connection:
 *
 *   READING   receives the request, for at most READ_NS
 *   WAITING   until files are flushed or finished, or the collector ends
 *   WRITING   sends the answer as fast as the client reads; each piece
 *             has WRITE_NS
 *
 * The next ctl_server_reap() frees ended connections.
 *
 * A client that hangs up while it waits is freed when its request is fulfilled;
 * clients of a flush or snapshot are freed at once. The server completes a
 * flush without its client. At most CONNECTIONS_MAX clients do not wait.
 * Another client evicts the oldest silent one, or the oldest slow reader. At
 * most WAITING_MAX clients wait, or twice as many for a stop; further ones get
 * an error. Clients that hung up count. So list and stats are answered even if
 * recordings make other clients wait. A request has at most CTL_REQUEST_MAX
 * bytes.
 *
 * Only the collector's user and root may connect. The mode of the socket and
 * SO_PEERCRED ensure that.
 */
#include "collector/serve/ctl_server.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/closer.h"
#include "collector/base/connections.h"
#include "collector/base/listener.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/options/categories.h"
#include "collector/options/ctl_wire.h"
#include "collector/options/limits.h"
#include "collector/record/arena.h"
#include "collector/record/collector.h"
#include "collector/serve/ctl_answer.h"
#include "collector/serve/ctl_flush.h"
#include "collector/serve/ctl_functions.h"
#include "collector/serve/ctl_snapshot.h"
#include "collector/serve/ctl_stats.h"
#include "collector/serve/ctl_top.h"
#include "collector/serve/session.h"
#include "shared/compiler.h"

#define CONNECTIONS_MAX 16
#define WAITING_MAX 16
#define READ_NS 2000000000
#define WRITE_NS 5000000000

enum state { READING, WAITING, WRITING };

struct client {
	struct connection connection; /* must be first */
	struct ctl_server *server;
	enum state state;
	bool hung_up; /* while it waited */
	char request[CTL_REQUEST_MAX];
	size_t request_bytes;

	json_t *json; /* the answer, while waiting */
	struct ctl_flush *flush; /* pending request, or NULL */
	struct ctl_functions *functions;
	struct ctl_snapshot *snapshot;
	struct ctl_top *top;
	uint64_t *sessions; /* waits for their ends */
	size_t session_count;
	bool wants_end; /* waits for the collector's end */

	char *answer;
	size_t answer_bytes, sent_bytes;
};

struct ctl_server {
	struct watch watch; /* of the listening socket; must be first */
	struct collector *collector;
	struct listener listener;
	char *link; /* path of DIR/control, or NULL */
	struct connections clients;
	struct ctl_flush *left; /* flushes without clients */
};

/* --- the answer ---------------------------------------------------------- */

static void client_end(struct client *client)
{
	connections_end(&client->server->clients, &client->connection);
}

static void send_client_answer(struct client *client)
{
	size_t rest = client->answer_bytes - client->sent_bytes;
	ssize_t sent = send(client->connection.watch.fd,
			    client->answer + client->sent_bytes, rest,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0) {
		client->sent_bytes += (size_t)sent;
		client->connection.deadline_ns = clock_boottime_ns() + WRITE_NS;
	}
	if (sent < 0 || (size_t)sent == rest)
		client_end(client);
}

static void answer_client(struct client *client, json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);

	json_decref(json);
	client->answer = text;
	client->answer_bytes = text ? strlen(text) : 0;
	if (!text || client->hung_up) {
		client_end(client);
		return;
	}
	client->state = WRITING;
	client->connection.deadline_ns = clock_boottime_ns() + WRITE_NS;
	loop_write(client->server->collector->loop, &client->connection.watch);
	send_client_answer(client);
}

/* --- the requests -------------------------------------------------------- */

struct choice {
	struct arena **arena;
	size_t count;
	bool all; /* without a target */
	const char *list; /* of categories; NULL: not given */
};

typedef void verb_run(struct client *client, const struct choice *choice);

static json_t *describe_choice(struct client *client,
			       const struct choice *choice)
{
	return ctl_answer_new(client->server->collector, choice->arena,
			      choice->count);
}

static void run_list(struct client *client, const struct choice *choice)
{
	answer_client(client, describe_choice(client, choice));
}

static void set_paused(struct client *client, const struct choice *choice,
		       bool paused)
{
	for (size_t i = 0; i < choice->count; i++)
		session_pause(choice->arena[i], paused);
	if (choice->all)
		client->server->collector->paused = paused;
	answer_client(client, describe_choice(client, choice));
}

static void run_pause(struct client *client, const struct choice *choice)
{
	set_paused(client, choice, true);
}

static void run_resume(struct client *client, const struct choice *choice)
{
	set_paused(client, choice, false);
}

static void run_categories(struct client *client, const struct choice *choice)
{
	struct collector *collector = client->server->collector;

	if (!choice->list || !categories_valid(choice->list)) {
		answer_client(client, ctl_answer_error(
					      "this is no list of categories"));
		return;
	}
	for (size_t i = 0; i < choice->count; i++)
		session_categories(choice->arena[i], choice->list);
	if (choice->all)
		strcpy(collector->categories, choice->list);
	answer_client(client, describe_choice(client, choice));
}

static void make_client_wait(struct client *client, json_t *json)
{
	client->json = json;
	client->state = WAITING;
	client->connection.deadline_ns = UINT64_MAX;
}

static bool read_wait_text(const char *text, uint64_t *ns)
{
	uint64_t ms = FLUSH_NS_USUAL / 1000000;
	char *end;

	if (text) {
		errno = 0;
		ms = strtoull(text, &end, 10);
		if (!isdigit((unsigned char)*text) || *end || errno ||
		    ms > FLUSH_NS_MAX / 1000000)
			return false;
	}
	*ns = ms * 1000000;
	return true;
}

static void run_flush(struct client *client, const struct choice *choice)
{
	uint64_t wait_ns;
	int err;

	if (!read_wait_text(choice->list, &wait_ns)) {
		answer_client(client, ctl_answer_error("this is no time"));
		return;
	}
	err = ctl_flush_start(client->server->collector, choice->arena,
			      choice->count, wait_ns, &client->flush);
	if (err)
		answer_client(client, ctl_answer_error(strerror(-err)));
	else
		make_client_wait(client, describe_choice(client, choice));
}

/* @choice->list is "MILLISECONDS", optionally with a TAB and a text. */
static void run_snapshot(struct client *client, const struct choice *choice)
{
	char ms[32] = "";
	const char *list = choice->list ? choice->list : "", *why;
	size_t length = strcspn(list, "\t");
	uint64_t wait_ns;
	int err;

	snprintf(ms, sizeof(ms), "%.*s", (int)MIN(length, sizeof(ms)), list);
	why = list + length + (list[length] == '\t');
	if (!read_wait_text(ms[0] ? ms : NULL, &wait_ns)) {
		answer_client(client, ctl_answer_error("this is no time"));
		return;
	}
	err = ctl_snapshot_start(client->server->collector, choice->arena,
				 choice->count, why, wait_ns,
				 &client->snapshot);
	if (err == -EINVAL)
		answer_client(client,
			      ctl_answer_error(
				      "there is nothing to take a snapshot "
				      "of: recording goes on without --flight "
				      "(perfrec ctl flush writes what has been "
				      "recorded so far)"));
	else if (err)
		answer_client(client, ctl_answer_error(strerror(-err)));
	else
		make_client_wait(client, describe_choice(client, choice));
}

static void run_stop(struct client *client, const struct choice *choice)
{
	client->sessions = calloc(choice->count + 1, sizeof(uint64_t));
	if (!client->sessions) {
		answer_client(client, ctl_answer_error("out of memory"));
		return;
	}
	make_client_wait(client, describe_choice(client, choice));
	for (size_t i = 0; i < choice->count && !choice->all; i++) {
		session_stop(choice->arena[i]);
		client->sessions[client->session_count++] =
			arena_session(choice->arena[i])->number;
	}
	client->wants_end = choice->all;
	if (choice->all)
		client->server->collector->closing = true;
}

static void run_functions(struct client *client, const struct choice *choice)
{
	const char *wrong = NULL;
	int err = ctl_functions_start(choice->arena, choice->count,
				      choice->list, &client->functions, &wrong);

	if (err)
		answer_client(client,
			      ctl_answer_error(wrong ? wrong : strerror(-err)));
	else
		make_client_wait(client, describe_choice(client, choice));
}

static void run_top(struct client *client, const struct choice *choice)
{
	int err = ctl_top_start(client->server->collector, choice->arena,
				choice->count, &client->top);

	if (err)
		answer_client(client, ctl_answer_error(strerror(-err)));
	else
		make_client_wait(client, describe_choice(client, choice));
}

static void run_stats(struct client *client, const struct choice *choice)
{
	json_t *stats = ctl_stats_json(client->server->collector), *answer;

	if (!stats) {
		answer_client(client, ctl_answer_error("out of memory"));
		return;
	}
	answer = describe_choice(client, choice);
	json_object_set_new(answer, "stats", stats);
	answer_client(client, answer);
}

static void obey_request(struct client *client, verb_run *run,
			 const char *target, const char *list)
{
	struct choice choice = { .all = !target[0], .list = list };
	json_t *error = NULL;
	int err = ctl_answer_select(client->server->collector, target,
				    &choice.arena, &choice.count, &error);

	if (err) {
		answer_client(client,
			      error ? error : ctl_answer_error(strerror(-err)));
		return;
	}
	run(client, &choice);
	free(choice.arena);
}

static uint32_t count_waiting_clients(const struct ctl_server *server)
{
	uint32_t count = 0;

	for (const struct connection *one = server->clients.first; one;
	     one = one->next) {
		const struct client *client = (const struct client *)one;

		count += client->state == WAITING;
	}
	return count;
}

/* Parses "VERB" or "VERB TARGET", optionally with a TAB and a LIST. */
static void take_client_request(struct client *client, char *line)
{
	static const struct {
		const char *name;
		verb_run *run;
		uint32_t waiting; /* limit of waiting clients; 0: the verb
				   * never waits */
	} verbs[] = {
		{ "list", run_list, 0 },
		{ "pause", run_pause, 0 },
		{ "resume", run_resume, 0 },
		{ "flush", run_flush, WAITING_MAX },
		{ "snapshot", run_snapshot, WAITING_MAX },
		/* `stop` must get through while other requests hang. */
		{ "stop", run_stop, 2 * WAITING_MAX },
		{ "categories", run_categories, 0 },
		{ "functions", run_functions, WAITING_MAX },
		{ "top", run_top, WAITING_MAX },
		{ "stats", run_stats, 0 },
	};
	char *tab = strchr(line, '\t'), *space;
	const char *target;

	if (tab)
		*tab = '\0';
	space = strchr(line, ' ');
	target = space ? space + 1 : "";
	if (space)
		*space = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(line, verbs[i].name))
			continue;
		if (verbs[i].waiting &&
		    count_waiting_clients(client->server) >= verbs[i].waiting)
			answer_client(client,
				      ctl_answer_error("too many requests wait "
						       "already"));
		else
			obey_request(client, verbs[i].run, target,
				     tab ? tab + 1 : NULL);
		return;
	}
	answer_client(client, ctl_answer_error("unknown request"));
}

/* --- the connections ----------------------------------------------------- */

static void read_client_request(struct client *client)
{
	size_t room = sizeof(client->request) - client->request_bytes;
	char *end, *from = client->request + client->request_bytes;
	size_t none;
	int cut;
	ssize_t got = closer_receive(client->connection.watch.fd, from, room,
				     NULL, 0, &none, &cut);

	if (got == -EAGAIN || got == -EINTR)
		return;
	if (got <= 0 || cut) {
		client_end(client);
		return;
	}
	client->request_bytes += (size_t)got;
	end = memchr(from, '\n', (size_t)got);
	if (!end && (size_t)got == room)
		answer_client(client,
			      ctl_answer_error("the request is too long"));
	if (!end)
		return;
	*end = '\0';
	take_client_request(client, client->request);
}

static void client_ready(struct watch *watch)
{
	struct client *client = (struct client *)watch;

	if (client->state == READING) {
		read_client_request(client);
	} else if (client->state == WRITING) {
		send_client_answer(client);
	} else {
		/* Waiting clients send nothing, so this one hung up. */
		if (client->flush) {
			ctl_flush_leave(&client->flush, &client->server->left);
			json_decref(client->json);
			client_end(client);
			return;
		}
		if (client->snapshot) {
			ctl_snapshot_end(&client->snapshot, NULL);
			json_decref(client->json);
			client_end(client);
			return;
		}
		client->hung_up = true;
		loop_remove(client->server->collector->loop, watch);
	}
}

static bool is_silent(const struct connection *connection, const void *unused)
{
	const struct client *client = (const struct client *)connection;

	(void)unused;
	return client->state == READING;
}

static bool is_slow_client(const struct connection *connection,
			   const void *unused)
{
	const struct client *client = (const struct client *)connection;

	(void)unused;
	return client->state == WRITING;
}

static void server_ready(struct watch *watch)
{
	struct ctl_server *server = (struct ctl_server *)watch;
	int fd = listener_accept(&server->listener);
	struct client *client;
	pid_t pid;
	uid_t uid;
	struct connection *old;

	if (fd < 0)
		return;
	client = calloc(1, sizeof(*client));
	if (!client || listener_peer(fd, &pid, &uid) < 0 ||
	    (uid != geteuid() && uid != 0)) {
		free(client);
		closer_close_socket(fd);
		return;
	}
	if (server->clients.count - count_waiting_clients(server) >=
	    CONNECTIONS_MAX) {
		old = connections_oldest(&server->clients, is_silent, NULL);
		if (!old)
			old = connections_oldest(&server->clients,
						 is_slow_client, NULL);
		if (old)
			connections_end(&server->clients, old);
	}
	client->server = server;
	connections_add(&server->clients, &client->connection, fd, client_ready,
			READ_NS);
}

static bool is_fulfilled(struct client *client)
{
	struct collector *collector = client->server->collector;

	for (size_t i = 0; i < client->session_count; i++)
		if (!session_is_over(collector, client->sessions[i]))
			return false;
	return !client->wants_end &&
	       (!client->functions ||
		ctl_functions_are_done(client->functions)) &&
	       (!client->top || ctl_top_is_done(client->top)) &&
	       (!client->snapshot || ctl_snapshot_is_over(client->snapshot)) &&
	       (!client->flush || ctl_flush_is_over(client->flush));
}

static void client_free(struct connection *connection)
{
	struct client *client = (struct client *)connection;

	ctl_functions_free(&client->functions);
	free(client->sessions);
	free(client->answer);
	free(client);
}

static void answer_waiting(struct client *client)
{
	json_t *json = client->json;

	client->json = NULL;
	if (client->flush) {
		ctl_flush_tell(client->flush, json);
		ctl_flush_leave(&client->flush, &client->server->left);
	}
	if (client->snapshot)
		ctl_snapshot_end(&client->snapshot, json);
	if (client->top)
		ctl_top_end(&client->top, json);
	if (client->functions)
		json = ctl_functions_end(&client->functions, json);
	answer_client(client, json);
}

static void answer_clients(struct ctl_server *server, bool must)
{
	for (struct connection *one = server->clients.first; one;
	     one = one->next) {
		struct client *client = (struct client *)one;

		if (client->state == WAITING && !one->ended &&
		    (must || is_fulfilled(client)))
			answer_waiting(client);
	}
}

void ctl_server_reap(struct ctl_server *server)
{
	answer_clients(server, false);
	ctl_flush_reap(&server->left);
	connections_reap(&server->clients, NULL, client_free);
}

bool ctl_server_is_busy(const struct ctl_server *server)
{
	for (const struct connection *one = server->clients.first; one;
	     one = one->next) {
		const struct client *client = (const struct client *)one;

		if (client->flush || client->top || client->snapshot)
			return true;
	}
	return server->left;
}

bool ctl_server_has_connections(const struct ctl_server *server)
{
	return server->clients.count > 0 || server->left;
}

/* --- the socket ---------------------------------------------------------- */

int ctl_server_new(struct collector *collector, const char *socket_path,
		   struct ctl_server **out)
{
	struct ctl_server *server = calloc(1, sizeof(*server));
	char path[SOCKET_PATH_BYTES];
	int err;

	if (!server)
		return -ENOMEM;
	/* socket_path.h reserves room for the suffix. */
	snprintf(path, sizeof(path), "%.*s" SOCKET_PATH_CTL,
		 (int)SOCKET_PATH_MAX, socket_path);
	server->collector = collector;
	server->clients.loop = collector->loop;
	err = listener_open(path, "--socket", SOCK_STREAM, false,
			    &server->listener);
	if (!err) {
		server->watch =
			(struct watch){ server->listener.fd, server_ready };
		err = loop_add(collector->loop, &server->watch);
	}
	if (err) {
		listener_close(&server->listener);
		free(server);
		return err;
	}
	*out = server;
	return 0;
}

static bool read_socket_link(const char *link, char to[SOCKET_PATH_BYTES])
{
	ssize_t length = readlink(link, to, SOCKET_PATH_BYTES);

	if (length < 0 || length >= (ssize_t)SOCKET_PATH_BYTES)
		return false;
	to[length] = '\0';
	return true;
}

/* Removes the link of a collector that was killed. The folder may belong to
 * anyone: keeps any file that is not a link to a socket of `perfrec ctl`, and
 * sets errno to EEXIST. */
static bool remove_left_link(const char *link)
{
	char to[SOCKET_PATH_BYTES];
	size_t suffix = strlen(SOCKET_PATH_CTL), length;

	length = read_socket_link(link, to) ? strlen(to) : 0;
	if (length > suffix &&
	    strcmp(to + length - suffix, SOCKET_PATH_CTL) == 0)
		return unlink(link) == 0;
	errno = EEXIST;
	return false;
}

void ctl_server_link(struct ctl_server *server, const char *dir)
{
	if (asprintf(&server->link, "%s/" SOCKET_PATH_LINK, dir) < 0) {
		server->link = NULL;
		return;
	}
	if (symlink(server->listener.path, server->link) == 0 ||
	    (errno == EEXIST && remove_left_link(server->link) &&
	     symlink(server->listener.path, server->link) == 0))
		return;
	log_warn("cannot make '%s': %m (perfrec ctl -o will not find us)",
		 server->link);
	free(server->link);
	server->link = NULL;
}

void ctl_server_close(struct ctl_server *server)
{
	if (!server || server->listener.fd < 0)
		return;
	loop_remove(server->collector->loop, &server->watch);
	if (server->link) {
		char to[SOCKET_PATH_BYTES];

		if (read_socket_link(server->link, to) &&
		    strcmp(to, server->listener.path) == 0)
			unlink(server->link);
	}
	listener_close(&server->listener);
}

void ctl_server_free(struct ctl_server **server)
{
	struct ctl_server *old = *server;

	*server = NULL;
	if (!old)
		return;
	answer_clients(old, true);
	ctl_flush_reap(&old->left);
	connections_close(&old->clients, client_free);
	ctl_server_close(old);
	free(old->link);
	free(old);
}
