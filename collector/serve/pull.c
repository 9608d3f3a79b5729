/* SPDX-License-Identifier: Apache-2.0
 *
 * pull - the thread of a request posts a job to the thread of each recording,
 * which adds up its profile. The request waits for these jobs up to a deadline
 * and skips late recordings. Then it merges the results, with the program as a
 * label, and writes the profile. For a profile of some seconds it runs the jobs
 * twice. It holds references to the recordings meanwhile, so programs that end
 * in between are included.
 *
 * The main thread creates the figures of /metrics on request, as in metrics.c.
 * That server stays separate: clients of a unix socket may pass descriptors
 * that block the thread that closes them.
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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/budget.h"
#include "collector/base/clock.h"
#include "collector/base/jobs.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/base/size.h"
#include "collector/files/windows.h"
#include "collector/names/symbols.h"
#include "collector/options/collect_options.h"
#include "collector/output/own_files.h"
#include "collector/profile/window_profile.h"
#include "collector/record/collector.h"
#include "collector/record/recording.h"
#include "collector/serve/session.h"
#include "collector/serve/stats.h"
#include "shared/compiler.h"

#define REQUESTS_MAX 16 /* concurrent requests */
#define TIMED_MAX 8 /* of these with seconds, so that others find room */
#define IDLE_MAX 32 /* connections without such a request */
#define PLACES_MAX 64 /* including ending connections */
#define IDLE_S 30
#define SECONDS_USUAL 30 /* as in Go */
#define SECONDS_MAX 120
#define SUM_NS 10000000000 /* for the recordings to add up */
#define FIGURES_NS 2000000000 /* for the main thread */
#define FRESH_NS 200000000 /* figures are reused, as in metrics.c */
/* For the profiles of all requests: those of recordings, and the answers. */
#define MEMORY_BYTES (256u << 20)
#define TOKEN_BYTES 256
#define SECOND_NS 1000000000u
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
	struct budget memory;
	char token[TOKEN_BYTES]; /* "": no token required */
	struct watch asked; /* in the main loop: figures are requested */
	struct lock lock; /* guards the following members and requests */
	pthread_cond_t change;
	bool stopping;
	unsigned int timed; /* profiles of some seconds in progress */
	struct place place[PLACES_MAX];
	uint64_t idled; /* last value of place.since */
	char *text; /* figures; may be NULL */
	uint64_t text_ns; /* CLOCK_BOOTTIME of text */
} g_pull = { .asked.fd = -1, .memory.left = MEMORY_BYTES };

/* --- waiting ------------------------------------------------------------- */

/* Waits for a change until @deadline_ns (CLOCK_BOOTTIME). Returns false after
 * it, or at shutdown. Lock held. */
static bool wait_for_change(uint64_t deadline_ns)
{
	uint64_t now = clock_boottime_ns(), until;
	struct timespec at;

	if (g_pull.stopping || now >= deadline_ns)
		return false;
	until = clock_monotonic_ns() + (deadline_ns - now);
	at.tv_sec = (time_t)(until / SECOND_NS);
	at.tv_nsec = (long)(until % SECOND_NS);
	lock_wait_until(&g_pull.lock, &g_pull.change, &at);
	return true;
}

/* --- sums of recordings -------------------------------------------------- */

/* A recording in a request. Shared by its job and the request; the last user
 * frees it. */
struct item {
	struct job job; /* the first member */
	struct item *next; /* owned by the request */
	struct recording *recording; /* a reference */
	struct stack_profile *window;
	enum window_source source;
	char program[16];
	uint32_t refs; /* under the lock */
	bool done, has_sums; /* under the lock */
	bool late; /* missed the first sum; owned by the request */
};

struct request {
	const struct window_view *view;
	enum window_source source;
	const char *program; /* NULL: all */
	struct item *items;
	uint64_t begin_ns, end_ns; /* CLOCK_REALTIME */
};

static void put_pull_item(struct item *item)
{
	bool last;

	lock_acquire(&g_pull.lock);
	last = --item->refs == 0;
	lock_release(&g_pull.lock);
	if (!last)
		return;
	stack_profile_free(&item->window);
	recording_put(&item->recording);
	free(item);
}

static void sum_job(struct job *job)
{
	struct item *item = (struct item *)job;
	bool has_sums = windows_sum(item->recording, g_pull.collector->sampler,
				    item->source, item->window);

	lock_acquire(&g_pull.lock);
	item->has_sums = has_sums;
	item->done = true;
	pthread_cond_broadcast(&g_pull.change);
	lock_release(&g_pull.lock);
	put_pull_item(item);
}

static void add_pull_item(struct request *request, struct recording *recording)
{
	const struct recording_setup *setup = recording_setup(recording);
	char program[16];
	struct item *item;

	for (item = request->items; item; item = item->next)
		if (item->recording == recording)
			return;
	windows_program(recording, program);
	if ((request->program && strcmp(program, request->program) != 0) ||
	    !(request->source == SOURCE_CPU	? setup->profiles.cpu
	      : request->source == SOURCE_WAITS ? setup->profiles.offcpu
						: setup->profiles.heap))
		return;
	item = calloc(1, sizeof(*item));
	if (!item)
		return;
	if (window_profile_new(request->view->kind, setup->symbols,
			       &g_pull.memory, &item->window)) {
		free(item);
		return;
	}
	item->recording = recording_get(recording);
	item->source = request->source;
	memcpy(item->program, program, sizeof(program));
	item->refs = 1;
	item->done = true;
	item->job.run = sum_job;
	item->next = request->items;
	request->items = item;
}

/* Returns 0, or -ENOENT if no recorded program matches @request. */
static int add_items(struct request *request)
{
	struct recording **list;
	size_t count = session_open_recordings(g_pull.collector, &list);

	for (size_t i = 0; i < count; i++)
		add_pull_item(request, list[i]);
	session_put_recordings(&list, count);
	return request->program && !request->items ? -ENOENT : 0;
}

static void put_pull_items(struct request *request)
{
	while (request->items) {
		struct item *item = request->items;

		request->items = item->next;
		put_pull_item(item);
	}
}

/* Adds up all recordings and waits for the results. Returns as add_items(). */
static int sum_all(struct request *request)
{
	uint64_t deadline_ns = clock_boottime_ns() + SUM_NS;
	int err = add_items(request);

	lock_acquire(&g_pull.lock);
	for (struct item *item = request->items; item; item = item->next) {
		if (item->late)
			continue;
		item->done = false;
		item->refs++;
		jobs_post(recording_setup(item->recording)->jobs, &item->job);
	}
	for (struct item *item = request->items; item; item = item->next)
		while (!item->late && !item->done &&
		       wait_for_change(deadline_ns))
			;
	lock_release(&g_pull.lock);
	return err;
}

static bool is_ready(const struct item *item)
{
	bool ready;

	lock_acquire(&g_pull.lock);
	ready = item->done && item->has_sums;
	lock_release(&g_pull.lock);
	return ready;
}

/* Waits for the @seconds of the profile. Returns 0, -ESHUTDOWN or -ENOENT. */
static int pass_time(struct request *request, uint64_t seconds)
{
	uint64_t end_ns;
	int err = sum_all(request);

	if (err)
		return err;
	end_ns = clock_boottime_ns() + seconds * SECOND_NS;
	request->begin_ns = clock_read_ns(CLOCK_REALTIME);
	for (struct item *item = request->items; item; item = item->next) {
		item->late = !is_ready(item);
		if (item->late)
			continue;
		(void)window_profile_end(item->window);
		window_profile_start(item->window);
	}
	lock_acquire(&g_pull.lock);
	while (wait_for_change(end_ns))
		;
	err = g_pull.stopping ? -ESHUTDOWN : 0;
	lock_release(&g_pull.lock);
	return err;
}

static int write_pull_items(const struct request *request, int fd)
{
	const struct stack_profile_header header = {
		.start_ns = request->begin_ns,
		.duration_ns = request->end_ns - request->begin_ns,
		.period = windows_period(g_pull.collector->options,
					 request->source),
		.program = request->items ? request->items->program : NULL,
	};
	struct stack_profile *all = NULL;
	struct symbol_cache *names;
	int err = symbol_cache_share(g_pull.collector->symbols, "--listen",
				     &names);

	if (err)
		return err;
	err = window_profile_new(request->view->kind, names, &g_pull.memory,
				 &all);
	for (struct item *item = request->items; item && !err;
	     item = item->next) {
		if (item->late || !is_ready(item))
			continue;
		(void)window_profile_end(item->window);
		/* The profile counts data without room. */
		(void)window_profile_add(all, item->window, item->program);
	}
	if (!err) {
		(void)window_profile_end(all);
		err = window_profile_write(all, request->view, &header, fd,
					   NULL);
	}
	stack_profile_free(&all);
	symbol_cache_put(&names);
	return err;
}

/* Creates the profile of the next @seconds, or of all time for 0. Returns a
 * descriptor or -errno. */
static int make_profile(struct request *request, uint64_t seconds)
{
	int fd, err = 0;

	if (seconds)
		err = pass_time(request, seconds);
	if (!err)
		err = sum_all(request);
	request->end_ns = clock_read_ns(CLOCK_REALTIME);
	/* As in Go. Servers use the start as the time of the profile, and
	 * reject old ones. */
	if (!seconds || request->end_ns < request->begin_ns)
		request->begin_ns = request->end_ns;
	fd = err ? err : memfd_create("perfrec-pull", MFD_CLOEXEC);
	if (fd < 0)
		err = err ? err : -errno;
	if (!err)
		err = write_pull_items(request, fd);
	put_pull_items(request);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int make_timed(struct request *request, uint64_t seconds)
{
	bool fits;
	int fd;

	lock_acquire(&g_pull.lock);
	fits = g_pull.timed < TIMED_MAX;
	g_pull.timed += fits;
	lock_release(&g_pull.lock);
	if (!fits)
		return -EBUSY;
	fd = make_profile(request, seconds);
	lock_acquire(&g_pull.lock);
	g_pull.timed--;
	lock_release(&g_pull.lock);
	return fd;
}

/* --- answers ------------------------------------------------------------- */

static enum MHD_Result answer_pull(struct MHD_Connection *connection,
				   unsigned int status,
				   struct MHD_Response *response,
				   const char *type)
{
	enum MHD_Result result = MHD_NO;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_text(struct MHD_Connection *connection,
				   unsigned int status, const char *text)
{
	return answer_pull(connection, status,
			   MHD_create_response_from_buffer(
				   strlen(text), (void *)(uintptr_t)text,
				   MHD_RESPMEM_MUST_COPY),
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
		return answer_pull(connection, MHD_HTTP_OK, response,
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
	while (g_pull.text_ns < fresh_ns && wait_for_change(now + FIGURES_NS))
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
	struct request request = {
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
		int err = add_items(&request);

		put_pull_items(&request);
		return err ? answer_profile(connection, err)
			   : answer_pull(connection, MHD_HTTP_OK,
					 MHD_create_response_from_callback(
						 MHD_SIZE_UNKNOWN, 1,
						 read_nothing, NULL, NULL),
					 PROFILE_TYPE);
	}
	/* The connection is idle while the profile is created. */
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
				  (unsigned int)seconds + 2 * IDLE_S);
	return answer_profile(connection,
			      seconds ? make_timed(&request, seconds)
				      : make_profile(&request, 0));
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
	const char *given = MHD_lookup_connection_value(
		connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	size_t length = strlen(BEARER);
	const char *host;

	if (g_pull.token[0])
		return given && !strncmp(given, BEARER, length) &&
		       is_token(given + length);
	/* Web pages must not read profiles: their own host name may resolve to
	 * this machine (DNS rebinding). */
	host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_HOST);
	return host && listen_options_is_loopback(host);
}

/* Rejects requests that are not served. MHD_YES without an answer: accepted. */
static enum MHD_Result check_request(struct MHD_Connection *connection,
				     const char *method)
{
	const char *length;

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
	length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					     MHD_HTTP_HEADER_CONTENT_LENGTH);
	if ((length && strcmp(length, "0") != 0) ||
	    MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					MHD_HTTP_HEADER_TRANSFER_ENCODING))
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
	const union MHD_DaemonInfo *info;
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
	info = MHD_get_daemon_info(g_pull.http, MHD_DAEMON_INFO_BIND_PORT);
	log_info("serving profiles at http://%.*s:%u" PREFIX,
		 (int)(strrchr(options->address, ':') - options->address),
		 options->address, info ? info->port : 0u);
	return 0;
}

int pull_start(struct collector *collector)
{
	const struct listen_options *options = &collector->options->listen;
	pthread_condattr_t attributes;
	int err = 0;

	if (!options->address)
		return 0;
	if (options->token)
		err = read_token(options->token);
	if (err)
		return err;
	g_pull.collector = collector;
	lock_init(&g_pull.lock, LOCK_PULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&g_pull.change, &attributes);
	pthread_condattr_destroy(&attributes);
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
	lock_acquire(&g_pull.lock);
	g_pull.stopping = true;
	pthread_cond_broadcast(&g_pull.change);
	lock_release(&g_pull.lock);
	MHD_stop_daemon(g_pull.http);
	g_pull.http = NULL;
	loop_remove(g_pull.collector->loop, &g_pull.asked);
	close(g_pull.asked.fd);
	/* Jobs of recordings may still use the lock. */
	free(g_pull.text);
	g_pull.text = NULL;
}
