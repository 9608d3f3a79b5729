/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/ctl_ask.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/socket_path.h"
#include "collector/options/ctl_wire.h"
#include "collector/options/limits.h"

/* Time for an answer that waits for nothing. */
#define ANSWER_TIMEOUT_S 20

static int find_link_of_dir(const char *dir, char out[SOCKET_PATH_BYTES])
{
	char path[PATH_MAX], to[PATH_MAX];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/" SOCKET_PATH_LINK, dir);
	length = readlink(path, to, sizeof(to));
	if (length > 0 && length < (ssize_t)SOCKET_PATH_BYTES) {
		memcpy(out, to, (size_t)length);
		out[length] = '\0';
		return 0;
	}
	log_err("nothing is being recorded into '%s'", dir);
	return -ENOENT;
}

static int find_socket(const struct ctl_request *request,
		       char out[SOCKET_PATH_BYTES])
{
	const char *path = request->socket ? request->socket
					   : socket_path_of_environment();
	int err;

	if (request->dir)
		return find_link_of_dir(request->dir, out);
	err = path ? socket_path_copy(path, out)
		   : socket_path_usual(false, out);
	if (!err)
		strcat(out, SOCKET_PATH_CTL);
	return err;
}

/* perfrec record has its own collector, which only its folder names. */
static bool is_recorded_here(void)
{
	struct stat status;

	return lstat(RECORDING_DIR "/" SOCKET_PATH_LINK, &status) == 0 &&
	       S_ISLNK(status.st_mode);
}

int ctl_find(struct ctl_request *request, char path[SOCKET_PATH_BYTES])
{
	size_t count;
	int err;

	if (request->socket || request->dir || socket_path_of_environment())
		return 0;
	err = socket_path_usual(false, path);
	if (err || socket_path_is_served(path))
		return err;
	if (is_recorded_here()) {
		request->dir = RECORDING_DIR;
		return 0;
	}
	count = socket_path_running(path);
	if (count == 1)
		request->socket = path;
	if (count < 2)
		return 0;
	log_err("%zu perfrec record are running: name the folder of one: "
		"perfrec %s -o DIR",
		count, request->command);
	return -EINVAL;
}

static int say_unreachable(const struct ctl_request *request, const char *path,
			   int err)
{
	int shown = (int)(strlen(path) - strlen(SOCKET_PATH_CTL));

	if (err == ENOENT || err == ECONNREFUSED) {
		const char *words = request->words ? request->words : "";
		const char *gap = request->words ? " " : "";

		if (request->socket || request->dir)
			log_err("no perfrec-collect serves '%.*s' (start one: "
				"perfrec-collect -o DIR)",
				shown, path);
		else if (socket_path_of_environment())
			log_err("no perfrec-collect serves '%.*s', which "
				"PERFREC_SOCKET names (start one there: "
				"perfrec-collect --socket %.*s -o DIR; or name "
				"another: --socket, or -o DIR)",
				shown, path, shown, path);
		else if (is_recorded_here())
			log_err("no perfrec-collect serves '%.*s'; for the "
				"perfrec record that records here: perfrec %s "
				"-o " RECORDING_DIR "%s%s",
				shown, path, request->command, gap, words);
		else
			log_err("no perfrec-collect serves '%.*s' (start one: "
				"perfrec-collect -o DIR; or name its socket: "
				"--socket; for a perfrec record: perfrec %s -o "
				"DIR%s%s, with the folder that it records "
				"into)",
				shown, path, request->command, gap, words);
	} else {
		log_err("cannot connect to perfrec-collect at '%.*s': %s",
			shown, path, strerror(err));
	}
	return -err;
}

static int open_connection(const struct ctl_request *request, int *out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timeval timeout = { .tv_sec = ANSWER_TIMEOUT_S };
	const struct timeval patience = { .tv_sec = ANSWER_TIMEOUT_S +
						    (time_t)(request->wait_ns /
							     1000000000) };
	bool waits = !strcmp(request->verb, "stop");
	int fd, err = find_socket(request, address.sun_path);

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return say_unreachable(request, address.sun_path, errno);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (!waits)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
			   sizeof(patience));
	/* The kernel restarts none of these calls with a time limit, and
	 * perfrec top gets SIGWINCH. */
	if (TEMP_FAILURE_RETRY(connect(fd, (struct sockaddr *)&address,
				       sizeof(address))) < 0) {
		err = say_unreachable(request, address.sun_path, errno);
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

static int no_answer(int err)
{
	if (err == EAGAIN)
		log_err("perfrec-collect does not answer");
	else
		log_err("no answer from perfrec-collect: %s",
			err ? strerror(err)
			    : "it has ended, or is busy with "
			      "too many requests");
	return -EIO;
}

static int ask_collector(int fd, const struct ctl_request *request,
			 char *answer)
{
	char line[CTL_REQUEST_MAX];
	size_t length = (size_t)snprintf(
		line, sizeof(line), "%s%s%s%s%s\n", request->verb,
		request->target ? " " : "",
		request->target ? request->target : "",
		request->list ? "\t" : "", request->list ? request->list : "");
	ssize_t got;

	if (TEMP_FAILURE_RETRY(send(fd, line, length, MSG_NOSIGNAL)) !=
	    (ssize_t)length)
		return no_answer(errno);
	for (length = 0; length < CTL_ANSWER_MAX; length += (size_t)got) {
		got = TEMP_FAILURE_RETRY(
			recv(fd, answer + length, CTL_ANSWER_MAX - length, 0));
		if (got <= 0)
			break;
	}
	answer[length] = '\0';
	return length && !got ? 0 : no_answer(got < 0 ? errno : 0);
}

int ctl_ask(const struct ctl_request *request, json_t **out)
{
	char *text = malloc(CTL_ANSWER_MAX + 1);
	const char *why;
	json_t *answer = NULL;
	int fd = -1, err = text ? open_connection(request, &fd) : -ENOMEM;

	if (!err)
		err = ask_collector(fd, request, text);
	if (fd >= 0)
		close(fd);
	if (!err)
		answer = json_loads(text, 0, NULL);
	free(text);
	if (err)
		return err;
	why = json_string_value(json_object_get(answer, "error"));
	if (json_is_object(answer) && !why) {
		*out = answer;
		return 0;
	}
	log_err("%s", why ? why : "perfrec-collect gives no sensible answer");
	json_decref(answer);
	return -EPROTO;
}
