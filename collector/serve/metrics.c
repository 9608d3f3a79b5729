/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics - a thread with its own event loop.
 *
 * Slow or hostile clients and slow disks must not block the main thread. So
 * this thread handles clients, closes the descriptors they pass, and writes the
 * file. The main thread owns the figures and creates the text:
 *
 *     this thread                        main thread
 *     requests figures: asked_fd   ->    stats_text(), into text
 *     sends text to all waiting    <-    told_fd
 *
 * Texts are reused for FRESH_NS, so clients cannot keep the main thread busy
 * either. If the main thread does not answer in time, clients get status 503
 * and the file stays unchanged.
 *
 * The server accepts GET and HEAD of /metrics, and closes the connection after
 * each answer as in HTTP/1.0.
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

#define CONNECTIONS_MAX 16
#define REQUEST_MAX 4096
#define READ_NS 2000000000 /* for a whole request */
#define FIGURES_NS 2000000000 /* for the main thread */
#define WRITE_NS 5000000000 /* for a whole answer */
#define FRESH_NS 200000000
#define FILE_S 5 /* seconds between two writes of the file */
#define FIGURES_BEGIN "# HELP perfrec_"
#define REAP_MS 100
#define END_MS 1000

enum state { READING, WAITING, WRITING };

struct scraper {
	struct connection connection; /* must be first */
	struct metrics *metrics;
	pid_t pid; /* of the client */
	enum state state;
	bool head_only; /* HEAD */
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
	int ended_fd; /* eventfd: the thread has finished */

	struct lock lock; /* guards text and text_ns */
	char *text; /* may be NULL */
	uint64_t text_ns; /* CLOCK_BOOTTIME of text */

	/* Owned by the thread once it runs. */
	int loop;
	struct watch told, ending, timer, listening;
	struct listener listener;
	struct connections scrapers;
	char *file, *new_file; /* NULL with a socket */
	int file_err; /* last logged error */
	bool over;
};

#define METRICS_OF(watch, member)                                            \
	((struct metrics *)(void *)((char *)(watch)-offsetof(struct metrics, \
							     member)))

/* --- eventfds ------------------------------------------------------------ */

static void event_set(int fd)
{
	uint64_t one = 1;

	/* The write only fails if the event is set already. */
	(void)!write(fd, &one, sizeof(one));
}

static void event_take(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}

/* --- the main thread ----------------------------------------------------- */

static void metrics_asked_ready(struct watch *watch)
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

/* --- the thread: figures ------------------------------------------------- */

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

/* --- the thread: the file ------------------------------------------------ */

/* The file is readable by all: collectors of metrics run as other users.
 * Returns 0 or -errno. */
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

static int replace_file(const struct metrics *metrics, const char *text)
{
	int fd, err;

	/* A killed collector may have left one. */
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

static void write_timer_ready(struct watch *watch)
{
	event_take(watch->fd);
	ask_for_figures(METRICS_OF(watch, timer));
}

/* Checks that the file at @path may be replaced: it is missing, empty, or has a
 * collector's figures. Never blocks on pipes. Returns 0 or -errno. */
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

/* Checks the paths before anything is written. Returns 0, or -errno after
 * logging one line. */
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
				write_timer_ready };
	if (!metrics->file || !metrics->new_file || metrics->timer.fd < 0 ||
	    timerfd_settime(metrics->timer.fd, 0, &period, NULL) < 0)
		err = -errno;
	if (!err)
		err = loop_add(metrics->loop, &metrics->timer);
	if (err)
		log_err("cannot write '%s': %s", path, strerror(-err));
	return err;
}

/* --- the thread: the socket ---------------------------------------------- */

static void scraper_end(struct scraper *scraper)
{
	connections_end(&scraper->metrics->scrapers, &scraper->connection);
}

static void send_scrape_answer(struct scraper *scraper)
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
	send_scrape_answer(scraper);
}

static void take_scrape_request(struct scraper *scraper)
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
	else {
		char *text = fresh_text(scraper->metrics);

		if (text) {
			answer_scraper(scraper, "200 OK", text);
			free(text);
			return;
		}
		scraper->state = WAITING;
		scraper->connection.deadline_ns =
			clock_boottime_ns() + FIGURES_NS;
		ask_for_figures(scraper->metrics);
	}
}

static void read_scrape_request(struct scraper *scraper)
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
		take_scrape_request(scraper);
	else if ((size_t)got == room)
		answer_scraper(scraper, "431 Request Header Fields Too Large",
			       "the request is too long\n");
}

static void scraper_ready(struct watch *watch)
{
	struct scraper *scraper = (struct scraper *)watch;

	if (scraper->state == READING)
		read_scrape_request(scraper);
	else if (scraper->state == WRITING)
		send_scrape_answer(scraper);
	else
		/* The client hung up or sent unexpected bytes. */
		scraper_end(scraper);
}

static void scraper_free(struct connection *connection)
{
	struct scraper *scraper = (struct scraper *)connection;

	free(scraper->answer);
	free(scraper);
}

static void scraper_late(struct connection *connection)
{
	struct scraper *scraper = (struct scraper *)connection;

	if (scraper->state == WAITING)
		answer_scraper(scraper, "503 Service Unavailable",
			       "the collector is busy\n");
}

static pid_t scraper_pid(const struct connection *connection)
{
	return ((const struct scraper *)connection)->pid;
}

static void listening_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, listening);
	int fd = listener_accept(&metrics->listener);
	struct scraper *scraper;
	pid_t pid;
	uid_t uid;
	struct connection *old;

	if (fd < 0)
		return;
	scraper = calloc(1, sizeof(*scraper));
	if (!scraper || listener_peer(fd, &pid, &uid) < 0 ||
	    (uid != geteuid() && uid != 0)) {
		free(scraper);
		closer_close_socket(fd);
		return;
	}
	old = NULL;
	if (metrics->scrapers.count >= CONNECTIONS_MAX)
		old = connections_of_most(&metrics->scrapers, scraper_pid);
	if (old)
		connections_end(&metrics->scrapers, old);
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

/* --- the thread ---------------------------------------------------------- */

static void told_ready(struct watch *watch)
{
	struct metrics *metrics = METRICS_OF(watch, told);
	char *text;

	event_take(watch->fd);
	text = fresh_text(metrics);
	if (!text)
		return;
	if (metrics->file) {
		int err = replace_file(metrics, text);

		if (err && err != metrics->file_err)
			log_warn("cannot write '%s': %s (it stays as it was)",
				 metrics->file, strerror(-err));
		metrics->file_err = err;
	}
	for (struct connection *one = metrics->scrapers.first; one;
	     one = one->next) {
		struct scraper *scraper = (struct scraper *)one;

		if (scraper->state == WAITING && !one->ended)
			answer_scraper(scraper, "200 OK", text);
	}
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

/* --- start and end ------------------------------------------------------- */

static int add_metrics_event(int loop, struct watch *watch,
			     void (*ready)(struct watch *watch))
{
	*watch =
		(struct watch){ eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), ready };
	return watch->fd < 0 ? -errno : loop_add(loop, watch);
}

static int start_metrics_events(struct metrics *metrics)
{
	int err;

	metrics->loop = loop_new();
	if (metrics->loop < 0)
		return metrics->loop;
	metrics->scrapers.loop = metrics->loop;
	err = add_metrics_event(metrics->collector->loop, &metrics->asked,
				metrics_asked_ready);
	if (!err)
		err = add_metrics_event(metrics->loop, &metrics->told,
					told_ready);
	if (!err)
		err = add_metrics_event(metrics->loop, &metrics->ending,
					ending_ready);
	metrics->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (metrics->ended_fd < 0 && !err)
		err = -errno;
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
	err = start_metrics_events(metrics);
	if (err)
		log_err("cannot start --metrics: %s", strerror(-err));
	else if (!strncmp(path, METRICS_SOCKET, prefix))
		err = start_socket(metrics, path + prefix);
	else
		err = start_file(metrics, path);
	if (!err) {
		err = -pthread_create(&metrics->thread, NULL, metrics_run,
				      metrics);
		metrics->started = !err;
		if (!err)
			pthread_setname_np(metrics->thread, "perfrec-metrics");
		else
			log_err("cannot start a thread: %s", strerror(-err));
	}
	if (err)
		metrics_free(&metrics);
	else
		*out = metrics;
	return err;
}

/* Returns false if a disk blocks the thread, which then keeps @metrics. */
static bool end_metrics_thread(struct metrics *metrics)
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

static void close_metrics_fd(int fd)
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
	if (!end_metrics_thread(old)) {
		log_warn("'%s' cannot be written: it stays as it was",
			 old->file ? old->file : "");
		return;
	}
	/* Readers of the file must not believe that the collector still
	 * runs. */
	if (old->file && old->started)
		unlink(old->file);
	listener_close(&old->listener);
	close_metrics_fd(old->asked.fd);
	close_metrics_fd(old->told.fd);
	close_metrics_fd(old->ending.fd);
	close_metrics_fd(old->ended_fd);
	close_metrics_fd(old->timer.fd);
	close_metrics_fd(old->loop);
	lock_destroy(&old->lock);
	free(old->text);
	free(old->file);
	free(old->new_file);
	free(old);
}
