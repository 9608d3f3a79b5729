/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics - a thread with an event loop of its own.
 *
 * No client may hold the main thread, however slow or hostile it is, and no
 * disk: so a thread of our own talks to clients, closes what they pass, and
 * writes the file. But the figures are the main thread's, so it makes the text:
 *
 *     our thread                         main thread
 *     wants figures: asked_fd      ->    stats_text(), into text
 *     hands text to all who wait   <-    told_fd
 *
 * A text of the last FRESH_NS is used again, so that clients cannot keep the
 * main thread busy either. If the main thread does not answer in time, clients
 * get status 503, and the file stays as it was.
 *
 * What is understood of HTTP is a GET (or HEAD) of /metrics; the connection is
 * closed after each answer, as of HTTP/1.0.
 */
#include "collector/serve/metrics.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/closer.h"
#include "collector/base/connections.h"
#include "collector/base/listener.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/loop.h"
#include "collector/options/limits.h"
#include "collector/output/own_files.h"
#include "collector/record/collector.h"
#include "collector/serve/stats.h"
#include "shared/compiler.h"

#define CONNECTIONS_MAX 16
#define REQUEST_MAX 4096
#define READ_NS 2000000000 /* for a whole request */
#define FIGURES_NS 2000000000 /* for the main thread */
#define WRITE_NS 5000000000 /* for a whole answer */
#define FRESH_NS 200000000
#define FILE_S 5 /* from one time that the file is written to the next */
/* How the figures begin, and so a file of them. */
#define FIGURES_BEGIN "# HELP perfrec_"
#define REAP_MS 100
#define END_MS 1000

enum state { READING, WAITING, WRITING };

/* Somebody who has connected. */
struct scraper {
	struct connection connection;
	struct metrics *metrics;
	pid_t pid; /* who it is */
	enum state state;
	bool head_only; /* it wants no body */
	char request[REQUEST_MAX];
	size_t request_bytes;
	char *answer;
	size_t answer_bytes, sent_bytes;
};

struct metrics {
	struct collector *collector;
	struct watch asked; /* in the main loop */
	pthread_t thread;
	bool started;
	int ended_fd; /* eventfd: it has nothing more to do */

	struct lock lock; /* of the next two */
	char *text; /* NULL: none yet */
	uint64_t text_ns; /* when it was made; BOOTTIME */

	/* The thread's, once it runs. */
	int loop;
	struct watch told, ending, timer, listening;
	struct listener listener;
	struct connections scrapers;
	char *file, *new_file; /* NULL: there is a socket instead */
	int file_err; /* what was said of it last */
	bool over;
};

/* The metrics whose @member is @watch. */
#define METRICS_OF(watch, member)                                            \
	((struct metrics *)(void *)((char *)(watch)-offsetof(struct metrics, \
							     member)))

/* --- eventfds ----------------------------------------------------------------
 */

static void event_set(int fd)
{
	uint64_t one = 1;

	/* It can only be full, and is set then. */
	(void)!write(fd, &one, sizeof(one));
}

static void event_take(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* --- the main thread ---------------------------------------------------------
 */

/* The figures are wanted. */
static void asked_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, asked);
	char *text, *old;

	event_take(watch->fd);
	text = stats_text(metrics->collector);
	if (!text)
		return;
	lock_acquire(&metrics->lock);
	old = metrics->text;
	metrics->text = text;
	metrics->text_ns = clock_boottime_ns();
	lock_release(&metrics->lock);
	free(old);
	event_set(metrics->told.fd);
}

/* --- the thread: figures -----------------------------------------------------
 */

/* A copy of the figures, which the caller frees; NULL: they are not fresh. */
static char *fresh_text(struct metrics *metrics)
{
	char *copy = NULL;

	lock_acquire(&metrics->lock);
	if (metrics->text && clock_boottime_ns() - metrics->text_ns < FRESH_NS)
		copy = strdup(metrics->text);
	lock_release(&metrics->lock);
	return copy;
}

static void ask_for_figures(struct metrics *metrics)
{
	event_set(metrics->asked.fd);
}

/* --- the thread: the file ----------------------------------------------------
 */

/* Says why the file cannot be written, each reason once. */
static void tell_file_error(struct metrics *metrics, int err)
{
	if (err && err != metrics->file_err)
		log_warn("cannot write '%s': %s (it stays as it was)",
			 metrics->file, strerror(-err));
	metrics->file_err = err;
}

/* Others may read it: who collects the figures of a machine is no user of it.
 * 0 or -errno. */
static int write_text(int fd, const char *text)
{
	size_t rest = strlen(text);

	if (fchmod(fd, 0644) < 0)
		return -errno;
	while (rest) {
		ssize_t done = write(fd, text, rest);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			text += done;
			rest -= (size_t)done;
		}
	}
	return 0;
}

/* The file is there whole, as it was or as it is now. 0 or -errno. */
static int replace_file(const struct metrics *metrics, const char *text)
{
	int fd, err;

	/* One that a collector left when it was killed. */
	unlink(metrics->new_file);
	fd = open(metrics->new_file,
		  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = write_text(fd, text);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (!err && rename(metrics->new_file, metrics->file) < 0)
		err = -errno;
	if (err)
		unlink(metrics->new_file);
	return err;
}

static void write_file(struct metrics *metrics, const char *text)
{
	tell_file_error(metrics, replace_file(metrics, text));
}

static void timer_ready(struct watch *watch)
{
	event_take(watch->fd);
	ask_for_figures(METRICS_OF(watch, timer));
}

/* Whether the file at @path may be replaced: it is not there, is empty, or has
 * figures of a collector. Nobody waits for whoever reads a pipe. 0 or -errno.
 */
static int check_old(const char *path)
{
	char begin[sizeof(FIGURES_BEGIN) - 1];
	struct stat status;
	ssize_t got;
	int fd;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	fd = S_ISREG(status.st_mode) ? own_files_open(path) : -EBADMSG;
	if (fd < 0)
		return fd;
	got = read(fd, begin, sizeof(begin));
	close(fd);
	if (got < 0)
		return -EIO;
	return !got || !memcmp(begin, FIGURES_BEGIN, (size_t)got) ? 0 : -EEXIST;
}

/* Whether a file can be made at @path. It is not there afterwards. */
static int check_new(const char *path)
{
	int fd, err = check_old(path);

	if (err)
		return err;
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	unlink(path);
	return 0;
}

/* Checks what the user has named, before anything is written. 0, or -errno
 * after logging one line. */
static int check_files(const struct metrics *metrics)
{
	const char *path = metrics->file;
	int err = check_old(path);

	if (!err) {
		path = metrics->new_file;
		err = check_new(path);
	}
	if (err)
		log_err("cannot write '%s': %s (choose another with --metrics)",
			path,
			err == -EBADMSG	 ? "it is no plain file"
			: err == -EEXIST ? "something else than figures of "
					   "perfrec is there"
					 : strerror(-err));
	return err;
}

static int start_file(struct metrics *metrics, const char *path)
{
	const struct itimerspec period = { .it_interval = { FILE_S, 0 },
					   .it_value = { 0, 1 } };
	int err = 0;

	metrics->file = strdup(path);
	if (asprintf(&metrics->new_file, "%s.new", path) < 0)
		metrics->new_file = NULL;
	if (metrics->file && metrics->new_file)
		err = check_files(metrics);
	if (err)
		return err;
	metrics->timer =
		(struct watch){ timerfd_create(CLOCK_MONOTONIC,
					       TFD_CLOEXEC | TFD_NONBLOCK),
				timer_ready };
	if (!metrics->file || !metrics->new_file || metrics->timer.fd < 0 ||
	    timerfd_settime(metrics->timer.fd, 0, &period, NULL) < 0)
		err = -errno;
	if (!err)
		err = loop_add(metrics->loop, &metrics->timer);
	if (err)
		log_err("cannot write '%s': %s", path, strerror(-err));
	return err;
}

/* --- the thread: the socket --------------------------------------------------
 */

static void scraper_end(struct scraper *scraper)
{
	connections_end(&scraper->metrics->scrapers, &scraper->connection);
}

static void send_answer(struct scraper *scraper)
{
	size_t rest = scraper->answer_bytes - scraper->sent_bytes;
	ssize_t sent = send(scraper->connection.watch.fd,
			    scraper->answer + scraper->sent_bytes, rest,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (sent > 0)
		scraper->sent_bytes += (size_t)sent;
	if (sent < 0 || (size_t)sent == rest)
		scraper_end(scraper);
}

/* Answers with @status, such as "200 OK", and @body. */
static void answer_scraper(struct scraper *scraper, const char *status,
			   const char *body)
{
	int bytes = asprintf(
		&scraper->answer,
		"HTTP/1.0 %s\r\n"
		"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		"Content-Length: %zu\r\n"
		"Allow: GET, HEAD\r\n"
		"Connection: close\r\n"
		"\r\n"
		"%s",
		status, strlen(body), scraper->head_only ? "" : body);

	if (bytes < 0) {
		scraper->answer = NULL;
		scraper_end(scraper);
		return;
	}
	scraper->answer_bytes = (size_t)bytes;
	scraper->state = WRITING;
	scraper->connection.deadline_ns = clock_boottime_ns() + WRITE_NS;
	loop_write(scraper->metrics->loop, &scraper->connection.watch);
	send_answer(scraper);
}

static void want_figures(struct scraper *scraper)
{
	char *text = fresh_text(scraper->metrics);

	if (text) {
		answer_scraper(scraper, "200 OK", text);
		free(text);
		return;
	}
	scraper->state = WAITING;
	scraper->connection.deadline_ns = clock_boottime_ns() + FIGURES_NS;
	ask_for_figures(scraper->metrics);
}

/* The request is whole: "GET /metrics HTTP/1.1", and lines that do not matter.
 */
static void take_request(struct scraper *scraper)
{
	char *line = scraper->request, *method, *path, *version;

	line[strcspn(line, "\r\n")] = '\0';
	method = strsep(&line, " ");
	path = strsep(&line, " ");
	version = strsep(&line, " ");
	if (!path || !version || line || strncmp(version, "HTTP/", 5) != 0) {
		answer_scraper(scraper, "400 Bad Request", "not HTTP\n");
		return;
	}
	path[strcspn(path, "?")] = '\0';
	scraper->head_only = !strcmp(method, "HEAD");
	if (!scraper->head_only && strcmp(method, "GET") != 0)
		answer_scraper(scraper, "405 Method Not Allowed",
			       "only GET and HEAD\n");
	else if (strcmp(path, "/metrics") != 0)
		answer_scraper(scraper, "404 Not Found",
			       "there is only /metrics\n");
	else
		want_figures(scraper);
}

static void read_request(struct scraper *scraper)
{
	size_t room = REQUEST_MAX - 1 - scraper->request_bytes;
	size_t none;
	int cut;
	ssize_t got = closer_receive(scraper->connection.watch.fd,
				     scraper->request + scraper->request_bytes,
				     room, NULL, 0, &none, &cut);

	if (got == -EAGAIN || got == -EINTR)
		return;
	if (got <= 0 || cut) {
		scraper_end(scraper);
		return;
	}
	scraper->request_bytes += (size_t)got;
	scraper->request[scraper->request_bytes] = '\0';
	if (memmem(scraper->request, scraper->request_bytes, "\r\n\r\n", 4) ||
	    memmem(scraper->request, scraper->request_bytes, "\n\n", 2))
		take_request(scraper);
	else if ((size_t)got == room)
		answer_scraper(scraper, "431 Request Header Fields Too Large",
			       "the request is too long\n");
}

static void scraper_ready(struct watch *watch)
{
	/* The watch is the first member of the first member. */
	struct scraper *scraper = (struct scraper *)watch;

	if (scraper->state == READING)
		read_request(scraper);
	else if (scraper->state == WRITING)
		send_answer(scraper);
	else
		/* It hung up, or says more than it should. */
		scraper_end(scraper);
}

static void scraper_free(struct connection *connection)
{
	/* The connection is the first member. */
	struct scraper *scraper = (struct scraper *)connection;

	free(scraper->answer);
	free(scraper);
}

/* The time of one is over. */
static void scraper_late(struct connection *connection)
{
	/* The connection is the first member. */
	struct scraper *scraper = (struct scraper *)connection;

	if (scraper->state == WAITING)
		answer_scraper(scraper, "503 Service Unavailable",
			       "the collector is busy\n");
}

static pid_t scraper_pid(const struct connection *connection)
{
	/* The connection is the first member. */
	return ((const struct scraper *)connection)->pid;
}

/* Makes room for one more: the process that has most loses its oldest. */
static void make_room(struct metrics *metrics)
{
	struct connection *old = NULL;

	if (metrics->scrapers.count >= CONNECTIONS_MAX)
		old = connections_of_most(&metrics->scrapers, scraper_pid);
	if (old)
		connections_end(&metrics->scrapers, old);
}

static void listening_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, listening);
	int fd = listener_accept(&metrics->listener);
	struct scraper *scraper;
	pid_t pid;
	uid_t uid;

	if (fd < 0)
		return;
	scraper = calloc(1, sizeof(*scraper));
	if (!scraper || listener_peer(fd, &pid, &uid) < 0 ||
	    (uid != geteuid() && uid != 0)) {
		free(scraper);
		closer_close_socket(fd);
		return;
	}
	make_room(metrics);
	scraper->metrics = metrics;
	scraper->pid = pid;
	connections_add(&metrics->scrapers, &scraper->connection, fd,
			scraper_ready, READ_NS);
}

static int start_socket(struct metrics *metrics, const char *path)
{
	int err;

	err = listener_open(path, "--metrics", SOCK_STREAM, false,
			    &metrics->listener);
	if (err)
		return err;
	metrics->listening =
		(struct watch){ metrics->listener.fd, listening_ready };
	err = loop_add(metrics->loop, &metrics->listening);
	if (err)
		log_err("cannot serve '%s': %s", path, strerror(-err));
	return err;
}

/* --- the thread --------------------------------------------------------------
 */

static void answer_all(struct metrics *metrics, const char *text)
{
	for (struct connection *one = metrics->scrapers.first; one;
	     one = one->next) {
		/* The connection is the first member. */
		struct scraper *scraper = (struct scraper *)one;

		if (scraper->state == WAITING && !one->ended)
			answer_scraper(scraper, "200 OK", text);
	}
}

/* The main thread has made figures. */
static void told_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, told);
	char *text;

	event_take(watch->fd);
	text = fresh_text(metrics);
	if (!text)
		return;
	if (metrics->file)
		write_file(metrics, text);
	answer_all(metrics, text);
	free(text);
}

static void ending_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, ending);

	event_take(watch->fd);
	metrics->over = true;
}

static void *metrics_run(void *context)
{
	struct metrics *metrics = context;

	while (!metrics->over) {
		loop_run_once(metrics->loop,
			      metrics->scrapers.count ? REAP_MS : -1);
		connections_reap(&metrics->scrapers, scraper_late,
				 scraper_free);
	}
	connections_close(&metrics->scrapers, scraper_free);
	event_set(metrics->ended_fd);
	return NULL;
}

/* --- start and end -----------------------------------------------------------
 */

static int add_event(int loop, struct watch *watch,
		     void (*ready)(struct watch *watch))
{
	*watch =
		(struct watch){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ready };
	return watch->fd < 0 ? -errno : loop_add(loop, watch);
}

static int start_events(struct metrics *metrics)
{
	int err;

	metrics->loop = loop_new();
	if (metrics->loop < 0)
		return metrics->loop;
	metrics->scrapers.loop = metrics->loop;
	err = add_event(metrics->collector->loop, &metrics->asked, asked_ready);
	if (!err)
		err = add_event(metrics->loop, &metrics->told, told_ready);
	if (!err)
		err = add_event(metrics->loop, &metrics->ending, ending_ready);
	metrics->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (metrics->ended_fd < 0 && !err)
		err = -errno;
	return err;
}

static int start_thread(struct metrics *metrics)
{
	int err = -pthread_create(&metrics->thread, NULL, metrics_run, metrics);

	metrics->started = !err;
	if (!err)
		pthread_setname_np(metrics->thread, "perfrec-metrics");
	else
		log_err("cannot start a thread: %s", strerror(-err));
	return err;
}

int metrics_new(struct collector *collector, const char *path,
		struct metrics **out)
{
	size_t prefix = strlen(METRICS_SOCKET);
	struct metrics *metrics;
	int err;

	if (!path)
		return 0;
	metrics = calloc(1, sizeof(*metrics));
	if (!metrics)
		return -ENOMEM;
	metrics->collector = collector;
	metrics->listener = LISTENER_NONE;
	metrics->loop = metrics->asked.fd = metrics->told.fd = -1;
	metrics->ending.fd = metrics->timer.fd = metrics->ended_fd = -1;
	lock_init(&metrics->lock, LOCK_METRICS);
	err = start_events(metrics);
	if (err)
		log_err("cannot start --metrics: %s", strerror(-err));
	else if (!strncmp(path, METRICS_SOCKET, prefix))
		err = start_socket(metrics, path + prefix);
	else
		err = start_file(metrics, path);
	if (!err)
		err = start_thread(metrics);
	if (err)
		metrics_free(&metrics);
	else
		*out = metrics;
	return err;
}

/* False: the thread is held by a disk, and @metrics stays its own. */
static bool end_thread(struct metrics *metrics)
{
	struct pollfd ended = { .fd = metrics->ended_fd, .events = POLLIN };

	if (!metrics->started)
		return true;
	event_set(metrics->ending.fd);
	if (poll(&ended, 1, END_MS) <= 0)
		return false;
	pthread_join(metrics->thread, NULL);
	return true;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void metrics_free(struct metrics **metrics)
{
	struct metrics *old = *metrics;

	*metrics = NULL;
	if (!old)
		return;
	if (old->asked.fd >= 0)
		loop_remove(old->collector->loop, &old->asked);
	if (!end_thread(old)) {
		log_warn("'%s' cannot be written: it stays as it was",
			 old->file ? old->file : "");
		return;
	}
	/* Whoever reads it is not to think that we are there. */
	if (old->file && old->started)
		unlink(old->file);
	listener_close(&old->listener);
	close_fd(old->asked.fd);
	close_fd(old->told.fd);
	close_fd(old->ending.fd);
	close_fd(old->ended_fd);
	close_fd(old->timer.fd);
	close_fd(old->loop);
	lock_destroy(&old->lock);
	free(old->text);
	free(old->file);
	free(old->new_file);
	free(old);
}
