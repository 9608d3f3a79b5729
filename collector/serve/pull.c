/* SPDX-License-Identifier: Apache-2.0
 *
 * pull - the HTTP server of --listen. The main thread creates the figures of
 * /metrics on request, as in metrics.c. That server stays separate: clients of
 * a unix socket may pass descriptors that block the thread that closes them.
 */
#include "collector/serve/pull.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/http.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/base/size.h"
#include "collector/files/windows.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/profile/window_profile.h"
#include "collector/record/collector.h"
#include "collector/serve/pull_profile.h"
#include "collector/serve/stats.h"
#include "shared/compiler.h"

#define REQUESTS_MAX 16 /* concurrent requests */
#define IDLE_MAX 32 /* connections without such a request */
#define PLACES_MAX 64 /* including ending connections */
#define IDLE_S 30
#define SECONDS_USUAL 30 /* as in Go */
#define SECONDS_MAX 120
#define FIGURES_NS 2000000000 /* for the main thread */
#define FRESH_NS 200000000 /* figures are reused, as in metrics.c */
#define TOKEN_BYTES 256
#define BEARER "Bearer "
#define PROFILE_TYPE "application/octet-stream"

/* A connection. An idle one may be closed for a newer one: it has sent no
 * acceptable request, or got its answer. */
struct place {
	enum { PLACE_FREE, PLACE_IDLE, PLACE_BUSY, PLACE_ENDED } state;
	int fd;
	uint64_t since; /* IDLE: the lowest is idle for longest */
};

static struct pull {
	struct collector *collector;
	struct MHD_Daemon *http;
	char token[TOKEN_BYTES]; /* "": no token required */
	struct watch asked; /* in the main loop: figures are requested */
	struct lock lock; /* guards the following members */
	pthread_cond_t change;
	bool stopping;
	struct place place[PLACES_MAX];
	uint64_t idled; /* last value of place.since */
	char *text; /* figures; may be NULL */
	uint64_t text_ns; /* CLOCK_BOOTTIME of text */
} g_pull = { .asked.fd = -1 };

/* --- answers ------------------------------------------------------------- */

static enum MHD_Result answer_text(struct MHD_Connection *connection,
				   unsigned int status, const char *text)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);

	if (response && status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	return http_answer(connection, status, response,
			   "text/plain; version=0.0.4; charset=utf-8");
}

static enum MHD_Result answer_profile(struct MHD_Connection *connection, int fd)
{
	struct MHD_Response *response = NULL;
	struct stat status;

	if (fd == -ESHUTDOWN)
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "the collector ends\n");
	if (fd == -EBUSY)
		return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "too many profiles of some seconds are "
				   "being made: ask again when one is done\n");
	if (fd == -ENOENT)
		return answer_text(connection, MHD_HTTP_NOT_FOUND,
				   "program: no program of this name is being "
				   "recorded; perfrec ctl list names them\n");
	if (fd >= 0 && fstat(fd, &status) == 0)
		response = MHD_create_response_from_fd64(
			(uint64_t)status.st_size, fd);
	/* The response owns the descriptor. */
	if (response)
		return http_answer(connection, MHD_HTTP_OK, response,
				   PROFILE_TYPE);
	if (fd >= 0)
		close(fd);
	return answer_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			   "the profile cannot be made: no memory, or no "
			   "descriptor\n");
}

/* HEAD has no body, so this is never called. */
static ssize_t read_nothing(void *context, uint64_t at, char *out, size_t room)
{
	(void)context;
	(void)at;
	(void)out;
	(void)room;
	return MHD_CONTENT_READER_END_OF_STREAM;
}

/* --- figures ------------------------------------------------------------- */

/* A request needs figures. Main thread. */
static void pull_asked_ready(struct watch *watch)
{
	uint64_t count;
	char *text, *old;

	(void)!read(watch->fd, &count, sizeof(count));
	text = stats_text(g_pull.collector);
	if (!text)
		return;
	lock_acquire(&g_pull.lock);
	old = g_pull.text;
	g_pull.text = text;
	g_pull.text_ns = clock_boottime_ns();
	pthread_cond_broadcast(&g_pull.change);
	lock_release(&g_pull.lock);
	free(old);
}

static enum MHD_Result answer_figures(struct MHD_Connection *connection)
{
	uint64_t now = clock_boottime_ns(), one = 1;
	uint64_t fresh_ns = now - MIN(now, (uint64_t)FRESH_NS);
	enum MHD_Result result;
	char *text = NULL;

	lock_acquire(&g_pull.lock);
	/* Clients must not keep the main thread busy. The write only fails if
	 * the event is set already. */
	if (g_pull.text_ns < fresh_ns)
		(void)!write(g_pull.asked.fd, &one, sizeof(one));
	while (g_pull.text_ns < fresh_ns && !g_pull.stopping &&
	       pull_wait(&g_pull.lock, &g_pull.change, now + FIGURES_NS))
		;
	if (g_pull.text && g_pull.text_ns >= fresh_ns)
		text = strdup(g_pull.text);
	lock_release(&g_pull.lock);
	result = text ? answer_text(connection, MHD_HTTP_OK, text)
		      : answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "the collector is busy\n");
	free(text);
	return result;
}

/* --- connections --------------------------------------------------------- */

static unsigned int count_places(int state)
{
	unsigned int count = 0;

	for (size_t i = 0; i < PLACES_MAX; i++)
		count += (int)g_pull.place[i].state == state;
	return count;
}

/* Lock held. */
static void make_idle(struct place *place)
{
	place->state = PLACE_IDLE;
	place->since = ++g_pull.idled;
}

/* Ends the connection that is idle for longest if there are too many. Otherwise
 * 64 silent clients would keep out the owner of the token. The thread of the
 * connection closes it. Lock held. */
static void end_longest_idle(void)
{
	struct place *longest = NULL;

	if (count_places(PLACE_IDLE) <= IDLE_MAX)
		return;
	for (size_t i = 0; i < PLACES_MAX; i++) {
		struct place *place = &g_pull.place[i];

		if (place->state == PLACE_IDLE &&
		    (!longest || place->since < longest->since))
			longest = place;
	}
	longest->state = PLACE_ENDED;
	shutdown(longest->fd, SHUT_RDWR);
}

/* The daemon never has more connections than places. */
static struct place *find_free_place(void)
{
	for (size_t i = 0; i < PLACES_MAX; i++)
		if (g_pull.place[i].state == PLACE_FREE)
			return &g_pull.place[i];
	return NULL;
}

/* Runs when a connection starts or ends. Its descriptor is open in both
 * cases. */
static void connection_changed(void *context, struct MHD_Connection *connection,
			       void **socket_context,
			       enum MHD_ConnectionNotificationCode code)
{
	struct place *place = *socket_context;

	(void)context;
	lock_acquire(&g_pull.lock);
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		place = find_free_place();
		*socket_context = place;
		if (place) {
			place->fd = MHD_get_connection_info(
					    connection,
					    MHD_CONNECTION_INFO_CONNECTION_FD)
					    ->connect_fd;
			make_idle(place);
			end_longest_idle();
		}
	} else if (place) {
		place->state = PLACE_FREE;
	}
	lock_release(&g_pull.lock);
}

static struct place *place_of_connection(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection,
				       MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

/* Reserves a place for a request of @connection. MHD_YES without an answer:
 * reserved. */
static enum MHD_Result make_busy(struct MHD_Connection *connection)
{
	struct place *place = place_of_connection(connection);
	enum MHD_Result result = MHD_NO;
	bool fits;

	lock_acquire(&g_pull.lock);
	fits = count_places(PLACE_BUSY) < REQUESTS_MAX;
	if (place && place->state == PLACE_IDLE) {
		result = MHD_YES;
		if (fits)
			place->state = PLACE_BUSY;
	}
	lock_release(&g_pull.lock);
	if (fits || result == MHD_NO)
		return result;
	return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			   "too many requests: ask again when one is done\n");
}

static void request_completed(void *context, struct MHD_Connection *connection,
			      void **request,
			      enum MHD_RequestTerminationCode code)
{
	struct place *place = place_of_connection(connection);

	(void)context;
	(void)request;
	(void)code;
	lock_acquire(&g_pull.lock);
	if (place && place->state == PLACE_BUSY) {
		make_idle(place);
		end_longest_idle();
	}
	lock_release(&g_pull.lock);
}

/* --- requests ------------------------------------------------------------ */

static const struct path {
	const char *name; /* after /debug/pprof/ */
	const struct window_view *view;
	enum window_source source;
	uint64_t seconds; /* default of ?seconds; 0: all time */
	const char *option; /* required option */
} paths[] = {
	{ "profile", &window_view_cpu, SOURCE_CPU, SECONDS_USUAL, "--cpu" },
	{ "heap", &window_view_memory, SOURCE_HEAP, 0, "--alloc" },
	{ "allocs", &window_view_allocs, SOURCE_HEAP, 0, "--alloc" },
	{ "mutex", &window_view_mutex, SOURCE_WAITS, 0, "--sched" },
	{ "block", &window_view_block, SOURCE_WAITS, 0, "--sched" },
};

#define PREFIX "/debug/pprof/"
#define INDEX                                                            \
	"perfrec-collect: profiles of all programs, for go tool pprof\n" \
	"\n"                                                             \
	"profile  CPU time of the next ?seconds=30\n"                    \
	"heap     memory in use, and allocated so far\n"                 \
	"allocs   the same\n"                                            \
	"mutex    waits for locks so far\n"                              \
	"block    other waits so far\n"                                  \
	"\n"                                                             \
	"?program=NAME: of one program only\n"                           \
	"?seconds=N: what changes in the next N seconds\n"               \
	"Figures of perfrec-collect: /metrics\n"

static bool is_recorded(const struct path *path)
{
	const struct collect_options *options = g_pull.collector->options;

	if (path->source == SOURCE_CPU)
		return options->cpu_hz;
	return path->source == SOURCE_WAITS ? options->sched
					    : options->alloc != ALLOC_OFF;
}

static bool read_seconds(struct MHD_Connection *connection, uint64_t *out)
{
	const char *text = MHD_lookup_connection_value(
		connection, MHD_GET_ARGUMENT_KIND, "seconds");

	return !text || !size_parse_count(text, 1, SECONDS_MAX, out);
}

static enum MHD_Result answer_path(struct MHD_Connection *connection,
				   const struct path *path, bool head)
{
	struct pull_request request = {
		.view = path->view,
		.source = path->source,
		.program = MHD_lookup_connection_value(
			connection, MHD_GET_ARGUMENT_KIND, "program"),
	};
	uint64_t seconds = path->seconds;
	char text[128];

	if (!is_recorded(path)) {
		snprintf(text, sizeof(text),
			 "not recorded: perfrec-collect has %s off\n",
			 path->option);
		return answer_text(connection, MHD_HTTP_NOT_FOUND, text);
	}
	if (!read_seconds(connection, &seconds)) {
		snprintf(text, sizeof(text),
			 "seconds: give a number from 1 to %d\n", SECONDS_MAX);
		return answer_text(connection, MHD_HTTP_BAD_REQUEST, text);
	}
	if (head) {
		int err = pull_profile_find(&request);

		return err ? answer_profile(connection, err)
			   : http_answer(connection, MHD_HTTP_OK,
					 MHD_create_response_from_callback(
						 MHD_SIZE_UNKNOWN, 1,
						 read_nothing, NULL, NULL),
					 PROFILE_TYPE);
	}
	/* The connection is idle while the profile is created. */
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
				  (unsigned int)seconds + 2 * IDLE_S);
	return answer_profile(connection, pull_profile_make(&request, seconds));
}

/* Takes the same time for any @given. */
static bool is_token(const char *given)
{
	size_t length = strlen(given);
	unsigned int differs = length != strlen(g_pull.token);

	for (size_t i = 0; g_pull.token[i]; i++)
		differs |= (unsigned char)g_pull.token[i] ^
			   (unsigned char)given[length ? i % length : 0];
	return !differs;
}

static bool is_permitted(struct MHD_Connection *connection)
{
	const char *given =
		http_header(connection, MHD_HTTP_HEADER_AUTHORIZATION);
	size_t length = strlen(BEARER);
	const char *host;

	if (g_pull.token[0])
		return given && !strncmp(given, BEARER, length) &&
		       is_token(given + length);
	/* Web pages must not read profiles: their own host name may resolve to
	 * this machine (DNS rebinding). */
	host = http_header(connection, MHD_HTTP_HEADER_HOST);
	return host && listen_options_is_loopback(host);
}

/* Rejects requests that are not served. MHD_YES without an answer: accepted. */
static enum MHD_Result check_request(struct MHD_Connection *connection,
				     const char *method)
{
	if (!is_permitted(connection))
		return answer_text(
			connection,
			g_pull.token[0] ? MHD_HTTP_UNAUTHORIZED
					: MHD_HTTP_FORBIDDEN,
			g_pull.token[0]
				? "the token is missing or wrong: send "
				  "Authorization: Bearer TOKEN, with the "
				  "token of --listen-token\n"
				: "the request names another host: only "
				  "127.0.0.1 and localhost are served "
				  "without --listen-token\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
				   "only GET and HEAD\n");
	if (http_has_body(connection))
		return answer_text(connection, MHD_HTTP_BAD_REQUEST,
				   "the request has a body: leave it out\n");
	return make_busy(connection);
}

static enum MHD_Result answer_pull_request(void *context,
					   struct MHD_Connection *connection,
					   const char *url, const char *method,
					   const char *version,
					   const char *data, size_t *data_size,
					   void **request)
{
	static char begun;

	(void)context;
	(void)version;
	(void)data;
	(void)data_size;
	/* The first call precedes the body, so a rejected body is never
	 * read. */
	if (!*request) {
		*request = &begun;
		return check_request(connection, method);
	}
	if (!strcmp(url, "/metrics"))
		return answer_figures(connection);
	if (!strcmp(url, PREFIX) || !strcmp(url, "/debug/pprof"))
		return answer_text(connection, MHD_HTTP_OK, INDEX);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (!strncmp(url, PREFIX, strlen(PREFIX)) &&
		    !strcmp(url + strlen(PREFIX), paths[i].name))
			return answer_path(
				connection, &paths[i],
				!strcmp(method, MHD_HTTP_METHOD_HEAD));
	return answer_text(connection, MHD_HTTP_NOT_FOUND,
			   "no such path: there are /metrics and the profiles "
			   "that " PREFIX " lists\n");
}

/* --- start and end ------------------------------------------------------- */

/* Reads the token from a file that only its owner can read. Returns 0, or
 * -errno after logging one line. */
static int read_token(const char *path)
{
	int fd = own_files_open(path);
	struct stat status;
	ssize_t got = -1;

	if (fd < 0) {
		log_err("cannot read '%s', for --listen-token: %s", path,
			fd == -EBADMSG ? "it is no plain file" : strerror(-fd));
		return fd;
	}
	if (fstat(fd, &status) < 0 || status.st_mode & 077)
		log_err("'%s', for --listen-token: others may read it; give it "
			"mode 0600",
			path);
	else if ((got = read(fd, g_pull.token, sizeof(g_pull.token) - 1)) < 0)
		log_err("cannot read '%s', for --listen-token: %m", path);
	close(fd);
	if (got < 0)
		return -EACCES;
	g_pull.token[got] = '\0';
	g_pull.token[strcspn(g_pull.token, "\r\n")] = '\0';
	if (g_pull.token[0] && (size_t)got < sizeof(g_pull.token) - 1)
		return 0;
	log_err("'%s', for --listen-token: write the token into its first "
		"line, of at most %d characters",
		path, TOKEN_BYTES - 2);
	return -EINVAL;
}

static int listen_http(const struct listen_options *options)
{
	bool six = options->socket.ss_family == AF_INET6;

	errno = 0;
	g_pull.http = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD |
			MHD_USE_THREAD_PER_CONNECTION | MHD_USE_ITC |
			(six ? MHD_USE_IPv6 : 0u),
		0, NULL, NULL, answer_pull_request, NULL, MHD_OPTION_SOCK_ADDR,
		&options->socket, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)PLACES_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)IDLE_S, MHD_OPTION_NOTIFY_CONNECTION,
		connection_changed, NULL, MHD_OPTION_NOTIFY_COMPLETED,
		request_completed, NULL, MHD_OPTION_END);
	if (!g_pull.http)
		return errno ? -errno : -EIO;
	log_info("serving profiles at http://%.*s:%u" PREFIX,
		 (int)(strrchr(options->address, ':') - options->address),
		 options->address, (unsigned int)http_port(g_pull.http));
	return 0;
}

int pull_start(struct collector *collector)
{
	const struct listen_options *options = &collector->options->listen;
	int err = 0;

	if (!options->address)
		return 0;
	if (options->token)
		err = read_token(options->token);
	if (err)
		return err;
	g_pull.collector = collector;
	pull_profile_start(collector);
	pull_change_init(&g_pull.lock, &g_pull.change);
	g_pull.asked = (struct watch){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				       pull_asked_ready };
	if (g_pull.asked.fd < 0)
		err = -errno;
	if (!err)
		err = loop_add(collector->loop, &g_pull.asked);
	if (!err)
		err = listen_http(options);
	if (err)
		log_err("cannot listen on '%s': %s (choose another with "
			"--listen)",
			options->address, strerror(-err));
	return err;
}

void pull_stop(void)
{
	if (!g_pull.http)
		return;
	pull_profile_stop();
	lock_acquire(&g_pull.lock);
	g_pull.stopping = true;
	pthread_cond_broadcast(&g_pull.change);
	lock_release(&g_pull.lock);
	MHD_stop_daemon(g_pull.http);
	g_pull.http = NULL;
	loop_remove(g_pull.collector->loop, &g_pull.asked);
	close(g_pull.asked.fd);
	free(g_pull.text);
	g_pull.text = NULL;
}
