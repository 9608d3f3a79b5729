/* SPDX-License-Identifier: Apache-2.0
 *
 * opener - the collector's side of opener_wire.h. Processes handle one request
 * at a time and are reused by all callers. They read no files, so no file can
 * harm them.
 */
#include "collector/names/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/lock.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/names/fd_message.h"
#include "collector/names/helper.h"
#include "collector/names/opener_wire.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define IDLE_MAX 2

_Static_assert(1 + READER_FILES_MAX <= FD_MESSAGE_MAX,
	       "the files of a question, and whom to pass them to");

struct opener {
	struct opener *next;
	uint64_t idle_ns; /* CLOCK_MONOTONIC */
	int nice; /* of the starting thread */
	struct helper helper;
};

struct openers {
	struct lock lock; /* guards everything below */
	struct opener *idle;
	unsigned int idle_count;
};

/* --- processes ------------------------------------------------------------ */

int openers_new(struct openers **out)
{
	struct openers *openers = calloc(1, sizeof(*openers));

	if (!openers)
		return -ENOMEM;
	lock_init(&openers->lock, LOCK_OPENERS);
	*out = openers;
	return 0;
}

static void end_opener(struct opener *opener)
{
	helper_end(&opener->helper);
	free(opener);
}

void openers_rest(struct openers *openers)
{
	struct opener *idle, *next;

	lock_acquire(&openers->lock);
	idle = openers->idle;
	openers->idle = NULL;
	openers->idle_count = 0;
	lock_release(&openers->lock);
	for (; idle; idle = next) {
		next = idle->next;
		end_opener(idle);
	}
}

void openers_tire(struct openers *openers, uint64_t before_ns)
{
	struct opener **link = &openers->idle, *tired = NULL, *next;

	lock_acquire(&openers->lock);
	while (*link) {
		next = (*link)->next;
		if ((*link)->idle_ns >= before_ns) {
			link = &(*link)->next;
			continue;
		}
		(*link)->next = tired;
		tired = *link;
		*link = next;
		openers->idle_count--;
	}
	lock_release(&openers->lock);
	for (; tired; tired = next) {
		next = tired->next;
		helper_dismiss(&tired->helper);
		free(tired);
	}
}

void openers_free(struct openers **openers_ptr)
{
	struct openers *openers = *openers_ptr;

	*openers_ptr = NULL;
	if (!openers)
		return;
	openers_rest(openers);
	lock_destroy(&openers->lock);
	free(openers);
}

static int start_opener(struct opener **out)
{
	struct opener *opener = calloc(1, sizeof(*opener));
	int fds[] = { [STDIN_FILENO] = -1, [STDERR_FILENO] = -1 };
	char path[PATH_MAX], variable[] = OPENER_VARIABLE "=1";
	char quiet[] = ENV_NOT_RECORDED;
	char *argv[] = { path, NULL }, *env[] = { variable, quiet, NULL };
	int err = opener ? helper_find("perfrec-reader", "PERFREC_READER", path)
			 : -ENOMEM;

	if (!err)
		err = helper_start(argv, env, fds, ARRAY_SIZE(fds),
				   &opener->helper);
	if (err) {
		free(opener);
		return err;
	}
	opener->nice = thread_nice();
	*out = opener;
	return 0;
}

static int take_opener(struct openers *openers, struct opener **out)
{
	struct opener **link = &openers->idle;

	lock_acquire(&openers->lock);
	while (*link && (*link)->nice != thread_nice())
		link = &(*link)->next;
	*out = *link;
	if (*out) {
		*link = (*out)->next;
		openers->idle_count--;
	}
	lock_release(&openers->lock);
	return *out ? 0 : start_opener(out);
}

static void give_opener(struct openers *openers, struct opener *opener)
{
	struct opener **link = &openers->idle, *over = NULL;

	opener->idle_ns = clock_monotonic_ns();
	lock_acquire(&openers->lock);
	opener->next = openers->idle;
	openers->idle = opener;
	/* Ends the oldest of too many, as its nice value may be rare. */
	if (++openers->idle_count > IDLE_MAX) {
		while ((*link)->next)
			link = &(*link)->next;
		over = *link;
		*link = NULL;
		openers->idle_count--;
	}
	lock_release(&openers->lock);
	if (over)
		end_opener(over);
}

/* --- messages ------------------------------------------------------------- */

/* *@fd may be -1. *@is_sound: the answer is from the process. */
static int receive_opener_reply(const struct opener *opener, int *fd,
				bool *is_sound)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + OPENER_SECONDS * 1000000000ull;
	struct pollfd answer = { .fd = opener->helper.answer,
				 .events = POLLIN };
	struct opener_reply reply = { 0 };
	int fds[FD_MESSAGE_MAX];
	unsigned int count = 0;
	int left_ms, err;

	do {
		left_ms = helper_patience_ms(deadline_ns);
		if (!left_ms)
			return -ETIMEDOUT;
	} while (poll(&answer, 1, left_ms) <= 0);
	err = fd_message_receive(answer.fd, &reply, sizeof(reply), fds, &count,
				 MSG_DONTWAIT);
	if (err)
		return err;
	if (count == 1)
		*fd = fds[0];
	else
		helper_close(fds, (int)count);
	*is_sound = true;
	return reply.err;
}

static int ask_opener(struct openers *openers,
		      const struct opener_request *request, const int *fds,
		      unsigned int count, int *out)
{
	const char *before = pulse_step("waits for a file to be opened");
	struct opener *opener = NULL;
	bool is_sound = false;
	int err = take_opener(openers, &opener);

	if (!err) {
		err = fd_message_send(opener->helper.answer, request,
				      sizeof(*request), fds, count,
				      MSG_DONTWAIT);
		if (!err)
			err = receive_opener_reply(opener, out, &is_sound);
		if (is_sound) {
			give_opener(openers, opener);
		} else {
			helper_count_failed();
			end_opener(opener);
		}
	}
	(void)pulse_step(before);
	return err;
}

/* --- questions ------------------------------------------------------------ */

int opener_find(struct openers *openers, int dir_fd, const char *path,
		uint64_t flags, uint64_t resolve)
{
	struct opener_request request = { .question = OPENER_FIND,
					  .flags = flags,
					  .resolve = resolve };
	int own = -1, fd = -1, err;

	if ((size_t)snprintf(request.path, sizeof(request.path), "%s", path) >=
	    sizeof(request.path))
		return -ENAMETOOLONG;
	if (dir_fd == AT_FDCWD)
		dir_fd = own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = dir_fd < 0 ? -EBADF
			 : ask_opener(openers, &request, &dir_fd, 1, &fd);
	if (own >= 0)
		close(own);
	if (err || fd >= 0)
		return err ? err : fd;
	return -EMFILE; /* our table of descriptors is full */
}

int opener_pass(struct openers *openers, int to,
		const struct reader_request *message, const int *fds,
		unsigned int count)
{
	const struct opener_request request = { .question = OPENER_PASS,
						.files = count,
						.message = *message };
	int all[FD_MESSAGE_MAX] = { to };
	int ignored = -1;

	memcpy(all + 1, fds, count * sizeof(*fds));
	return ask_opener(openers, &request, all, 1 + count, &ignored);
}
