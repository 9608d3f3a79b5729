/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/one_shot.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/http.h"
#include "collector/base/log.h"
#include "collector/base/random.h"
#include "shared/compiler.h"

#define URL_BYTES 512
#define IDLE_S 30
/* Longest wait for another request of the viewer once it has fetched the file.
 * Each request starts the wait again. */
#define LINGER_MS 2000
/* In the eventfd: the file was fetched. Other answers count 1. */
#define FILE_FETCHED (1ULL << 32)

struct one_shot {
	struct one_shot_plan plan;
	struct MHD_Daemon *daemon;
	uint16_t port;
	int fetched; /* an eventfd */
	sigset_t before; /* signal mask before blocking */
	char word[2 * 2 * sizeof(uint64_t) + 1];
	char url[URL_BYTES];
};

/* State of a request, as stored by microhttpd between calls. */
static char nothing_yet, another, the_file;

static const char *content_type_of(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".wasm", "application/wasm" },
		{ ".png", "image/png" },
		{ ".ico", "image/x-icon" },
		{ ".woff2", "font/woff2" },
	};
	size_t length = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t end = strlen(types[i].end);

		if (length > end && !strcmp(name + length - end, types[i].end))
			return types[i].type;
	}
	return "application/octet-stream";
}

static enum MHD_Result refuse_connection(struct MHD_Connection *connection,
					 unsigned int status)
{
	return http_answer(connection, status,
			   MHD_create_response_from_buffer(
				   0, NULL, MHD_RESPMEM_PERSISTENT),
			   NULL);
}

/* The page of the viewer asks for permission to fetch from this machine. */
static void permit_origin(const struct one_shot *server,
			  struct MHD_Response *response)
{
	if (!server->plan.origin || !response)
		return;
	MHD_add_response_header(response, "Access-Control-Allow-Origin",
				server->plan.origin);
	MHD_add_response_header(response,
				"Access-Control-Allow-Private-Network", "true");
}

static enum MHD_Result answer_question(const struct one_shot *server,
				       struct MHD_Connection *connection)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		0, NULL, MHD_RESPMEM_PERSISTENT);

	permit_origin(server, response);
	if (response)
		MHD_add_response_header(response,
					"Access-Control-Allow-Methods", "GET");
	return http_answer(connection, MHD_HTTP_NO_CONTENT, response, NULL);
}

/* The name of another site may resolve to 127.0.0.1. */
static bool host_is_ours(const struct one_shot *server,
			 struct MHD_Connection *connection)
{
	const char *host = http_header(connection, MHD_HTTP_HEADER_HOST);
	char numeric[32], named[32];

	snprintf(numeric, sizeof(numeric), "127.0.0.1:%" PRIu16, server->port);
	snprintf(named, sizeof(named), "localhost:%" PRIu16, server->port);
	return host && (!strcmp(host, numeric) || !strcmp(host, named));
}

/* Returns the file name after the secret word in @url, or NULL if the word is
 * wrong. */
static const char *name_in_url(const struct one_shot *server, const char *url)
{
	size_t length = strlen(server->word);

	if (url[0] != '/' || strncmp(url + 1, server->word, length) != 0 ||
	    url[1 + length] != '/')
		return NULL;
	return url + 1 + length + 1;
}

/* Opens a file of the viewer, directly in its folder. */
static int open_viewer_file(const struct one_shot *server, const char *name)
{
	int folder, fd;

	if (!server->plan.folder || !name[0] || name[0] == '.' ||
	    strchr(name, '/'))
		return -1;
	folder = open(server->plan.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return -1;
	fd = openat(folder, name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	close(folder);
	return fd;
}

/* A part of a file: [from, to). */
struct part {
	uint64_t from, to, size;
};

/* Sets @part as the header Range says. Returns the status of the answer: 200 for
 * the whole file, also without a header, and for lists of ranges. */
static unsigned int choose_part(const char *range, struct part *part)
{
	uint64_t from, last = UINT64_MAX;
	char *end;

	if (!range || strncmp(range, "bytes=", 6) != 0 || strchr(range, ','))
		return MHD_HTTP_OK;
	range += 6;
	if (*range != '-' && (*range < '0' || *range > '9'))
		return MHD_HTTP_OK;
	from = strtoull(*range == '-' ? range + 1 : range, &end, 10);
	if (*range == '-') {
		from = part->size - MIN(from, part->size);
	} else {
		if (*end++ != '-')
			return MHD_HTTP_OK;
		if (*end)
			last = strtoull(end, &end, 10);
	}
	if (*end || last < from)
		return MHD_HTTP_OK;
	if (from >= part->size)
		return MHD_HTTP_RANGE_NOT_SATISFIABLE;
	part->from = from;
	part->to = last < part->size ? last + 1 : part->size;
	return MHD_HTTP_PARTIAL_CONTENT;
}

/* Returns NULL if there is no such part, or no memory. */
static struct MHD_Response *respond_with_part(int fd, const char *range,
					      struct part *part,
					      unsigned int *status)
{
	struct MHD_Response *response = NULL;
	struct stat file;
	char text[80];

	if (fstat(fd, &file) == 0 && S_ISREG(file.st_mode)) {
		part->to = part->size = (uint64_t)file.st_size;
		*status = choose_part(range, part);
		if (*status != MHD_HTTP_RANGE_NOT_SATISFIABLE)
			response = MHD_create_response_from_fd_at_offset64(
				part->to - part->from, fd, part->from);
	}
	if (!response) {
		close(fd);
		return NULL;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_ACCEPT_RANGES,
				"bytes");
	if (*status == MHD_HTTP_PARTIAL_CONTENT) {
		snprintf(text, sizeof(text),
			 "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, part->from,
			 part->to - 1, part->size);
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_RANGE,
					text);
	}
	return response;
}

static enum MHD_Result answer_file(struct one_shot *server,
				   struct MHD_Connection *connection,
				   const char *name, bool head, void **request)
{
	bool is_file = strcmp(name, server->plan.name) == 0;
	const char *range = http_header(connection, MHD_HTTP_HEADER_RANGE);
	unsigned int status = MHD_HTTP_NOT_FOUND;
	struct MHD_Response *response;
	struct part part = { 0 };
	int fd = is_file ? open(server->plan.path, O_RDONLY | O_CLOEXEC)
			 : open_viewer_file(server, name);

	response = fd < 0 ? NULL : respond_with_part(fd, range, &part, &status);
	if (!response)
		return refuse_connection(
			connection, status == MHD_HTTP_RANGE_NOT_SATISFIABLE
					    ? status
					    : MHD_HTTP_NOT_FOUND);
	if (is_file)
		permit_origin(server, response);
	*request =
		!is_file || head || part.to < part.size ? &another : &the_file;
	return http_answer(connection, status, response, content_type_of(name));
}

static enum MHD_Result answer_file_request(void *context,
					   struct MHD_Connection *connection,
					   const char *url, const char *method,
					   const char *version,
					   const char *data, size_t *data_size,
					   void **request)
{
	struct one_shot *server = context;
	const char *name = name_in_url(server, url);
	bool head = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;

	(void)version;
	(void)data;
	if (!*request) {
		*request = &nothing_yet;
		return MHD_YES;
	}
	if (*data_size) {
		*data_size = 0; /* request bodies are ignored */
		return MHD_YES;
	}
	if (!name || !host_is_ours(server, connection))
		return refuse_connection(connection, MHD_HTTP_NOT_FOUND);
	if (strcmp(method, MHD_HTTP_METHOD_OPTIONS) == 0)
		return answer_question(server, connection);
	if (!head && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return refuse_connection(connection,
					 MHD_HTTP_METHOD_NOT_ALLOWED);
	return answer_file(server, connection, name, head, request);
}

static void take_request_end(void *context, struct MHD_Connection *connection,
			     void **request,
			     enum MHD_RequestTerminationCode code)
{
	struct one_shot *server = context;
	uint64_t count = *request == &the_file ? FILE_FETCHED : 1;

	(void)connection;
	if ((*request == &the_file || *request == &another) &&
	    code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		if (write(server->fetched, &count, sizeof(count)) < 0)
			log_warn("cannot end by itself: %s", strerror(errno));
}

static int start_daemon(struct one_shot *server)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(server->plan.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	server->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL,
		answer_file_request, server, MHD_OPTION_SOCK_ADDR, &address,
		MHD_OPTION_NOTIFY_COMPLETED, take_request_end, server,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)IDLE_S,
		MHD_OPTION_END);
	if (!server->daemon)
		return errno ? -errno : -EIO;
	server->port = http_port(server->daemon) ?: server->plan.port;
	return 0;
}

/* Blocks the signals that end the wait, for all further threads. */
static void block_ending_signals(sigset_t *set, sigset_t *before)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
	sigprocmask(SIG_BLOCK, set, before);
}

int one_shot_start(const struct one_shot_plan *plan, struct one_shot **out)
{
	struct one_shot *server = calloc(1, sizeof(*server));
	sigset_t set;
	int err;

	if (!server) {
		log_err("cannot serve '%s': out of memory", plan->path);
		return -ENOMEM;
	}
	server->plan = *plan;
	block_ending_signals(&set, &server->before);
	snprintf(server->word, sizeof(server->word),
		 "%016" PRIx64 "%016" PRIx64, random_u64(), random_u64());
	server->fetched = eventfd(0, EFD_CLOEXEC);
	errno = 0;
	err = server->fetched < 0 ? -errno : start_daemon(server);
	if (err) {
		log_err("cannot serve '%s' at port %" PRIu16
			" of 127.0.0.1: %s (choose another: --port)",
			plan->path, plan->port, strerror(-err));
		one_shot_stop(&server);
		return err;
	}
	*out = server;
	return 0;
}

void one_shot_stop(struct one_shot **server)
{
	struct one_shot *self = *server;

	*server = NULL;
	if (!self)
		return;
	if (self->daemon)
		MHD_stop_daemon(self->daemon);
	if (self->fetched >= 0)
		close(self->fetched);
	sigprocmask(SIG_SETMASK, &self->before, NULL);
	free(self);
}

const char *one_shot_url(struct one_shot *server, const char *name)
{
	snprintf(server->url, sizeof(server->url),
		 "http://127.0.0.1:%" PRIu16 "/%s/%s", server->port,
		 server->word, name);
	return server->url;
}

uint16_t one_shot_port(const struct one_shot *server)
{
	return server->port;
}

static int wait_for_any(struct one_shot *server, int signals, pid_t browser,
			int pidfd)
{
	struct pollfd fds[] = {
		{ .fd = server->fetched, .events = POLLIN },
		{ .fd = signals, .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
	};
	bool fetched = false;
	uint64_t count;

	for (;;) {
		int status, ready = poll(fds, ARRAY_SIZE(fds),
					 fetched ? LINGER_MS : -1);

		if (ready < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!ready)
			return ONE_SHOT_FETCHED;
		if (fds[0].revents &&
		    read(server->fetched, &count, sizeof(count)) > 0)
			fetched |= count >= FILE_FETCHED;
		if (fds[1].revents)
			return fetched ? ONE_SHOT_FETCHED : ONE_SHOT_STOPPED;
		if (!fds[2].revents)
			continue;
		fds[2].fd = -1;
		if (waitpid(browser, &status, WNOHANG) == browser &&
		    status != 0 && !fetched)
			return ONE_SHOT_NO_BROWSER;
	}
}

int one_shot_wait(struct one_shot *server, pid_t browser)
{
	int signals, pidfd = -1, result;
	sigset_t set, before;

	block_ending_signals(&set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (browser > 0)
		pidfd = (int)syscall(SYS_pidfd_open, browser, 0);
	result = signals < 0 ? -errno
			     : wait_for_any(server, signals, browser, pidfd);
	if (signals >= 0)
		close(signals);
	if (pidfd >= 0)
		close(pidfd);
	/* Consumes the signal that ended the wait. */
	while (result == ONE_SHOT_STOPPED &&
	       sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0)
		;
	return result;
}
