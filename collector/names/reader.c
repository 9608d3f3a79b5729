/* SPDX-License-Identifier: Apache-2.0
 *
 * reader - the collector's side of reader_wire.h.
 *
 * A call takes an idle process of its user or starts one, in less than a
 * millisecond. A process that answers wrong or late is killed. An idle process
 * may have died, because earlier calls used up its CPU time. The call then asks
 * another one.
 */
#include "collector/names/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/limit_hint.h"
#include "collector/base/lock.h"
#include "collector/base/log.h"
#include "collector/base/pulse.h"
#include "collector/base/thread_nice.h"
#include "collector/names/fd_message.h"
#include "collector/names/helper.h"
#include "collector/names/nowait.h"
#include "collector/names/opener.h"
#include "collector/names/reader_wire.h"
#include "collector/names/symbol_name.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define IDLE_MAX 4
/* Not reused above this; reader_main.c limits them to 60 s. */
#define CPU_NS_MAX 20000000000ULL

#define SEGMENT_COUNT_MAX 256
#define FUNCTION_BYTES_MAX (256ull << 20)
#define STRING_BYTES_MAX (1ull << 30)
#define BOUND_BYTES_MAX (128ull << 20)

struct reader {
	struct reader *next;
	struct helper helper;
	uid_t uid;
	int nice; /* of the starting thread */
	uint64_t idle_ns; /* CLOCK_MONOTONIC */
	bool was_idle;
};

struct readers {
	struct openers *openers;
	struct lock lock; /* guards everything below */
	struct reader *idle; /* last used first */
	struct readers_stats stats;
	bool told_of_missing;
};

struct part {
	void *bytes; /* the caller frees it */
	size_t count;
	size_t most; /* limit in bytes */
};

struct question {
	struct reader_request request;
	int fds[READER_FILES_MAX];
	uid_t uid;
	unsigned int seconds;
	struct part part[READER_PARTS_MAX];
	uint32_t value;
	/* Returns true if the parts of the answer make sense; NULL: no check. */
	bool (*is_good)(const struct question *question);
	char *why;
};

/* --- processes ------------------------------------------------------------ */

int readers_new(struct readers **out)
{
	struct readers *readers = calloc(1, sizeof(*readers));

	if (!readers || openers_new(&readers->openers)) {
		free(readers);
		return -ENOMEM;
	}
	lock_init(&readers->lock, LOCK_READERS);
	*out = readers;
	return 0;
}

static void end_readers(struct reader *list)
{
	while (list) {
		struct reader *reader = list;

		list = reader->next;
		helper_end(&reader->helper);
		free(reader);
	}
}

void readers_rest(struct readers *readers)
{
	struct reader *idle;

	lock_acquire(&readers->lock);
	idle = readers->idle;
	readers->idle = NULL;
	readers->stats.idle = 0;
	lock_release(&readers->lock);
	end_readers(idle);
	openers_rest(readers->openers);
}

void readers_tire(struct readers *readers, uint64_t before_ns)
{
	struct reader **link = &readers->idle, *tired = NULL;

	lock_acquire(&readers->lock);
	while (*link) {
		struct reader *reader = *link;

		if (reader->idle_ns >= before_ns) {
			link = &reader->next;
			continue;
		}
		*link = reader->next;
		reader->next = tired;
		tired = reader;
		readers->stats.idle--;
	}
	lock_release(&readers->lock);
	while (tired) {
		struct reader *reader = tired;

		tired = reader->next;
		helper_dismiss(&reader->helper);
		free(reader);
	}
	openers_tire(readers->openers, before_ns);
}

void readers_free(struct readers **readers_ptr)
{
	struct readers *readers = *readers_ptr;

	*readers_ptr = NULL;
	if (!readers)
		return;
	readers_rest(readers);
	openers_free(&readers->openers);
	lock_destroy(&readers->lock);
	free(readers);
}

struct openers *readers_openers(struct readers *readers)
{
	return readers->openers;
}

void readers_stats(struct readers *readers, struct readers_stats *out)
{
	lock_acquire(&readers->lock);
	*out = readers->stats;
	lock_release(&readers->lock);
}

static struct reader *take_idle(struct readers *readers, uid_t uid)
{
	struct reader **link = &readers->idle, *reader;

	lock_acquire(&readers->lock);
	while (*link && ((*link)->uid != uid || (*link)->nice != thread_nice()))
		link = &(*link)->next;
	reader = *link;
	if (reader) {
		*link = reader->next;
		readers->stats.idle--;
		readers->stats.busy++;
		reader->was_idle = true;
	}
	lock_release(&readers->lock);
	return reader;
}

/* The caller logs a lack of descriptors, as it may get fewer. */
static void say_no_start(struct readers *readers, int err)
{
	bool is_news;

	if (err == -EMFILE || err == -ENFILE)
		return;
	lock_acquire(&readers->lock);
	is_news = !readers->told_of_missing;
	readers->told_of_missing = true;
	lock_release(&readers->lock);
	if (is_news && *limit_hint(err))
		log_warn("cannot start perfrec-reader: %s%s: functions have no "
			 "names",
			 strerror(-err), limit_hint(err));
	else if (is_news)
		log_warn("cannot start perfrec-reader: %s: functions have no "
			 "names; install perfrec again",
			 strerror(-err));
}

static int start_reader(struct readers *readers, uid_t uid, struct reader **out)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	int fds[] = { [STDIN_FILENO] = -1, [STDERR_FILENO] = -1 };
	char path[PATH_MAX], quiet[] = ENV_NOT_RECORDED;
	char *argv[] = { path, NULL }, *env[] = { quiet, NULL };
	int err = reader ? helper_find("perfrec-reader", "PERFREC_READER", path)
			 : -ENOMEM;

	if (!err)
		err = helper_start(argv, env, fds, ARRAY_SIZE(fds),
				   &reader->helper);
	if (err) {
		free(reader);
		say_no_start(readers, err);
		return err;
	}
	reader->uid = uid;
	reader->nice = thread_nice();
	lock_acquire(&readers->lock);
	readers->stats.started++;
	readers->stats.busy++;
	lock_release(&readers->lock);
	*out = reader;
	return 0;
}

static bool is_worn(const struct reader *reader)
{
	struct timespec used;
	clockid_t clock;

	if (clock_getcpuclockid(reader->helper.pid, &clock) ||
	    clock_gettime(clock, &used))
		return true;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec >
	       CPU_NS_MAX;
}

static void give_reader(struct readers *readers, struct reader *reader)
{
	struct reader **link = &readers->idle;
	struct reader *over = is_worn(reader) ? reader : NULL;

	reader->next = NULL;
	reader->idle_ns = clock_monotonic_ns();
	lock_acquire(&readers->lock);
	readers->stats.busy--;
	if (!over) {
		reader->next = readers->idle;
		readers->idle = reader;
		/* Ends the longest idle process of too many. */
		if (++readers->stats.idle > IDLE_MAX) {
			while ((*link)->next)
				link = &(*link)->next;
			over = *link;
			*link = NULL;
			readers->stats.idle--;
		}
	}
	lock_release(&readers->lock);
	end_readers(over);
}

static int drop_reader(struct readers *readers, struct reader *reader, int err,
		       char *why)
{
	int status = helper_end(&reader->helper);
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	helper_count_failed();
	free(reader);
	if (err == -ETIMEDOUT)
		snprintf(why, READER_WHY_BYTES, "reading it took too long");
	else if (signal == SIGXCPU)
		snprintf(why, READER_WHY_BYTES,
			 "reading it took too much CPU time");
	else if (signal && signal != SIGKILL)
		snprintf(why, READER_WHY_BYTES,
			 "perfrec-reader crashed (signal %d)", signal);
	else
		snprintf(why, READER_WHY_BYTES,
			 "perfrec-reader gave no whole answer");
	lock_acquire(&readers->lock);
	readers->stats.busy--;
	readers->stats.killed++;
	lock_release(&readers->lock);
	return signal == SIGXCPU ? -ETIMEDOUT : err;
}

/* --- files ---------------------------------------------------------------- */

struct files {
	int fds[READER_FILES_MAX]; /* to send */
	bool is_ours[READER_FILES_MAX];
	bool are_far; /* some are O_PATH and need an opener */
};

static void close_files(struct files *files)
{
	for (size_t i = 0; i < READER_FILES_MAX; i++)
		if (files->is_ours[i])
			close(files->fds[i]);
}

/* Opens local files. Returns 0, and the caller closes @out; or -errno. */
static int open_reader_files(const struct question *question, struct files *out)
{
	*out = (struct files){ .are_far = false };
	for (size_t i = 0; i < question->request.files; i++) {
		int fd = question->fds[i], flags = fcntl(fd, F_GETFL);
		char link[32];
		int copy;

		if (flags < 0 || (flags & O_PATH && !nowait_is_local(fd))) {
			out->fds[i] = fd;
			out->are_far = true;
			continue;
		}
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		copy = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		out->fds[i] = copy < 0 ? -errno : copy;
		out->is_ours[i] = out->fds[i] >= 0;
		if (out->fds[i] < 0) {
			int err = out->fds[i];

			close_files(out);
			return err;
		}
	}
	return 0;
}

/* --- messages ------------------------------------------------------------- */

/* Returns 0, -ETIMEDOUT, or -EPIPE at the end. */
static int receive_bytes(const struct reader *reader, uint64_t deadline_ns,
			 void *out, size_t count)
{
	char *at = out;

	while (count) {
		struct pollfd fd = { .fd = reader->helper.answer,
				     .events = POLLIN };
		ssize_t got = recv(fd.fd, at, count, MSG_DONTWAIT);
		int left_ms;

		if (got > 0) {
			at += got;
			count -= (size_t)got;
		} else if (!got || (errno != EAGAIN && errno != EINTR)) {
			return -EPIPE;
		} else {
			left_ms = helper_patience_ms(deadline_ns);
			if (!left_ms)
				return -ETIMEDOUT;
			poll(&fd, 1, left_ms);
		}
	}
	return 0;
}

static int receive_part(const struct reader *reader, uint64_t deadline_ns,
			uint64_t bytes, struct part *part)
{
	if (bytes > part->most)
		return -EPIPE;
	part->bytes = malloc(bytes + 1);
	if (!part->bytes)
		return -ENOMEM;
	part->count = bytes;
	return receive_bytes(reader, deadline_ns, part->bytes, bytes);
}

/* *@is_sound: the answer is well-formed, even with an error. */
static int receive_reader_reply(const struct reader *reader,
				uint64_t deadline_ns, struct question *question,
				bool *is_sound)
{
	struct reader_reply reply;
	int err = receive_bytes(reader, deadline_ns, &reply, sizeof(reply));

	if (!err && reply.err) {
		*is_sound = true;
		reply.why[sizeof(reply.why) - 1] = '\0';
		symbol_name_clean(reply.why);
		snprintf(question->why, READER_WHY_BYTES, "%s", reply.why);
		return reply.err < 0 && reply.err > -4096 ? reply.err
							  : -EBADMSG;
	}
	for (size_t i = 0; i < READER_PARTS_MAX && !err; i++)
		err = receive_part(reader, deadline_ns, reply.bytes[i],
				   &question->part[i]);
	question->value = err ? 0 : reply.value;
	*is_sound = !err || err == -ENOMEM;
	return err;
}

static void drop_parts(struct question *question)
{
	for (size_t i = 0; i < READER_PARTS_MAX; i++) {
		free(question->part[i].bytes);
		question->part[i].bytes = NULL;
		question->part[i].count = 0;
	}
}

/* Returns -EAGAIN if the process was idle and is dead. */
static int ask_reader(struct readers *readers, struct reader *reader,
		      const struct files *files, struct question *question)
{
	uint64_t deadline_ns =
		clock_monotonic_ns() + question->seconds * 1000000000ull;
	bool is_sound = false, was_idle = reader->was_idle;
	const struct reader_request *request = &question->request;
	int err = files->are_far
			  ? opener_pass(readers->openers, reader->helper.answer,
					request, files->fds, request->files)
			  : fd_message_send(reader->helper.answer, request,
					    sizeof(*request), files->fds,
					    request->files, MSG_DONTWAIT);

	/* A file that cannot be opened is not the reader's fault. */
	is_sound = files->are_far && err && err != -EPIPE && err != -ETIMEDOUT;
	if (is_sound)
		snprintf(question->why, READER_WHY_BYTES, "%s", strerror(-err));
	if (!err)
		err = receive_reader_reply(reader, deadline_ns, question,
					   &is_sound);
	if (err)
		drop_parts(question);
	if (is_sound && err != -ENOMEM) {
		give_reader(readers, reader);
		/* No opener could start: do not retry. */
		return err == -EAGAIN ? -EBUSY : err;
	}
	err = drop_reader(readers, reader, err, question->why);
	return was_idle && err == -EPIPE ? -EAGAIN : err;
}

/* Returns 0, and the caller frees the parts; or -errno. */
static int ask_one_reader(struct readers *readers, struct question *question)
{
	const char *before = pulse_step("waits for perfrec-reader");
	struct files files;
	int err = open_reader_files(question, &files);

	if (err) {
		snprintf(question->why, READER_WHY_BYTES, "%s", strerror(-err));
		(void)pulse_step(before);
		return err;
	}
	do {
		struct reader *reader = take_idle(readers, question->uid);

		err = reader ? 0
			     : start_reader(readers, question->uid, &reader);
		if (err) {
			snprintf(question->why, READER_WHY_BYTES,
				 "cannot start perfrec-reader: %s",
				 strerror(-err));
			break;
		}
		err = ask_reader(readers, reader, &files, question);
	} while (err == -EAGAIN);
	close_files(&files);
	(void)pulse_step(before);
	if (!err && question->is_good && !question->is_good(question)) {
		drop_parts(question);
		snprintf(question->why, READER_WHY_BYTES,
			 "perfrec-reader gave an answer that makes no sense");
		err = -EBADMSG;
	}
	return err == -EPIPE ? -EBADMSG : err;
}

/* --- questions ------------------------------------------------------------ */

static bool has_end(const char *text, size_t bytes)
{
	return memchr(text, '\0', bytes);
}

static bool is_hex(const char *text, size_t bytes)
{
	return has_end(text, bytes) &&
	       text[strspn(text, "0123456789abcdef")] == '\0';
}

static bool are_good_headers(const struct question *question)
{
	const struct reader_headers *headers = question->part[0].bytes;

	return question->part[0].count == sizeof(*headers) &&
	       question->part[1].count % sizeof(struct reader_segment) == 0 &&
	       question->part[1].count &&
	       is_hex(headers->build_id, sizeof(headers->build_id));
}

int reader_headers(struct readers *readers, uid_t uid, int fd,
		   struct elf_headers *out, char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_HEADERS, .files = 1 },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS_SHORT,
		.part = { { .most = sizeof(struct reader_headers) },
			  { .most = SEGMENT_COUNT_MAX *
				    sizeof(struct reader_segment) } },
		.is_good = are_good_headers,
		.why = why,
	};
	struct elf_headers headers = { 0 };
	const struct reader_headers *got;
	const struct reader_segment *segments;
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	got = question.part[0].bytes;
	memcpy(headers.build_id, got->build_id, sizeof(headers.build_id));
	headers.is_instrumented = got->is_instrumented;
	segments = question.part[1].bytes;
	headers.segment_count = question.part[1].count / sizeof(*segments);
	headers.segments =
		calloc(headers.segment_count, sizeof(*headers.segments));
	for (size_t i = 0; headers.segments && i < headers.segment_count; i++)
		headers.segments[i] = (struct elf_segment){
			.offset = segments[i].offset,
			.vaddr = segments[i].vaddr,
			.bytes = segments[i].bytes,
			.memory_bytes = segments[i].memory_bytes,
			.is_executable = segments[i].is_executable != 0,
		};
	drop_parts(&question);
	if (!headers.segments) {
		snprintf(why, READER_WHY_BYTES, "not enough memory");
		return -ENOMEM;
	}
	*out = headers;
	return 0;
}

static bool is_good_debug(const struct question *question)
{
	const struct reader_debug *debug = question->part[0].bytes;

	return question->part[0].count == sizeof(*debug) &&
	       is_hex(debug->build_id, sizeof(debug->build_id)) &&
	       has_end(debug->link, sizeof(debug->link)) &&
	       has_end(debug->alt, sizeof(debug->alt)) &&
	       is_hex(debug->alt_build_id, sizeof(debug->alt_build_id));
}

int reader_debug(struct readers *readers, uid_t uid, int fd,
		 struct elf_debug *out, char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_DEBUG, .files = 1 },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS_SHORT,
		.part = { { .most = sizeof(struct reader_debug) } },
		.is_good = is_good_debug,
		.why = why,
	};
	const struct reader_debug *got;
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	got = question.part[0].bytes;
	*out = (struct elf_debug){
		.has_lines = got->has_lines,
		.has_symbols = got->has_symbols,
		.link_crc = got->link_crc,
		.mini_offset = got->mini_offset,
		.mini_bytes = got->mini_bytes,
	};
	memcpy(out->build_id, got->build_id, sizeof(out->build_id));
	memcpy(out->link, got->link, sizeof(out->link));
	memcpy(out->alt, got->alt, sizeof(out->alt));
	memcpy(out->alt_build_id, got->alt_build_id, sizeof(out->alt_build_id));
	drop_parts(&question);
	return 0;
}

/* Returns true if part 0 has items of @bytes each, and part 1 has texts for them. */
static bool has_texts(const struct question *question, size_t bytes)
{
	const struct part *list = &question->part[0];
	const struct part *strings = &question->part[1];

	return list->count % bytes == 0 &&
	       (!list->count ||
		(strings->count &&
		 !((const char *)strings->bytes)[strings->count - 1]));
}

/* Sorted, not empty, with names inside the strings. */
static bool are_good_functions(const struct question *question)
{
	const struct elf_function *list = question->part[0].bytes;
	size_t count = question->part[0].count / sizeof(*list);

	if (!has_texts(question, sizeof(*list)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!list[i].size || list[i].name >= question->part[1].count ||
		    (i && list[i].start <= list[i - 1].start))
			return false;
	return true;
}

static int ask_for_names(struct readers *readers, enum reader_question what,
			 uid_t uid, int fd, const struct reader_symtab *symtab,
			 struct elf_functions *out, char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = what,
			     .files = symtab->fd < 0 ? 1 : 2,
			     .offset = symtab->mini_offset,
			     .bytes = symtab->mini_bytes },
		.fds = { fd, symtab->fd },
		.uid = uid,
		.seconds = READER_SECONDS,
		.part = { { .most = FUNCTION_BYTES_MAX },
			  { .most = STRING_BYTES_MAX } },
		.is_good = are_good_functions,
		.why = why,
	};
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	*out = (struct elf_functions){
		.list = question.part[0].bytes,
		.count = question.part[0].count / sizeof(*out->list),
		.strings = question.part[1].bytes,
		.string_bytes = question.part[1].count,
	};
	return 0;
}

int reader_functions(struct readers *readers, uid_t uid, int fd,
		     const struct reader_symtab *symtab,
		     struct elf_functions *out, char why[READER_WHY_BYTES])
{
	return ask_for_names(readers, READER_FUNCTIONS, uid, fd, symtab, out,
			     why);
}

int reader_objects(struct readers *readers, uid_t uid, int fd,
		   const struct reader_symtab *symtab,
		   struct elf_functions *out, char why[READER_WHY_BYTES])
{
	return ask_for_names(readers, READER_OBJECTS, uid, fd, symtab, out,
			     why);
}

static bool are_good_bounds(const struct question *question)
{
	const struct elf_bound *list = question->part[0].bytes;
	size_t count = question->part[0].count / sizeof(*list);

	for (size_t i = 0; i < count; i++)
		if (!list[i].bytes || (i && list[i].start < list[i - 1].start))
			return false;
	return question->part[0].count % sizeof(*list) == 0;
}

int reader_bounds(struct readers *readers, uid_t uid, int fd,
		  struct elf_bounds *out, char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_BOUNDS, .files = 1 },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS,
		.part = { { .most = BOUND_BYTES_MAX } },
		.is_good = are_good_bounds,
		.why = why,
	};
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	free(question.part[1].bytes);
	*out = (struct elf_bounds){
		.list = question.part[0].bytes,
		.count = question.part[0].count / sizeof(*out->list),
	};
	return 0;
}

int reader_checksum(struct readers *readers, uid_t uid, int fd, uint32_t *out,
		    char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_CHECKSUM, .files = 1 },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS,
		.why = why,
	};
	int err = ask_one_reader(readers, &question);

	if (!err)
		*out = question.value;
	drop_parts(&question);
	return err;
}

int reader_bytes(struct readers *readers, uid_t uid, int fd, uint64_t offset,
		 size_t bytes, void *out, size_t *got,
		 char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_BYTES,
			     .files = 1,
			     .offset = offset,
			     .bytes = bytes },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS_SHORT,
		.part = { { .most = bytes } },
		.why = why,
	};
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	if (question.part[0].count)
		memcpy(out, question.part[0].bytes, question.part[0].count);
	*got = question.part[0].count;
	drop_parts(&question);
	return 0;
}

/* In order, inside the range, with texts of printable ASCII. */
static bool is_good_assembly(const struct question *question)
{
	const struct elf_instruction *list = question->part[0].bytes;
	const char *strings = question->part[1].bytes;
	size_t count = question->part[0].count / sizeof(*list);
	size_t bytes = question->part[1].count;
	uint64_t at = 0;

	if (!has_texts(question, sizeof(*list)))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (list[i].text >= bytes || !list[i].bytes || list[i].at < at)
			return false;
		at = (uint64_t)list[i].at + list[i].bytes;
	}
	for (size_t i = 0; i < bytes; i++)
		if (strings[i] && (strings[i] < ' ' || strings[i] > '~'))
			return false;
	return at <= question->request.bytes;
}

int reader_assembly(struct readers *readers, uid_t uid, int fd, uint64_t offset,
		    size_t bytes, uint64_t vaddr, struct elf_assembly *out,
		    char why[READER_WHY_BYTES])
{
	struct question question = {
		.request = { .question = READER_ASSEMBLY,
			     .files = 1,
			     .offset = offset,
			     .bytes = bytes,
			     .vaddr = vaddr },
		.fds = { fd },
		.uid = uid,
		.seconds = READER_SECONDS_SHORT,
		.part = { { .most = bytes * sizeof(*out->list) },
			  { .most = bytes * ELF_ASSEMBLY_TEXT } },
		.is_good = is_good_assembly,
		.why = why,
	};
	int err = ask_one_reader(readers, &question);

	if (err)
		return err;
	*out = (struct elf_assembly){
		.list = question.part[0].bytes,
		.count = question.part[0].count / sizeof(*out->list),
		.strings = question.part[1].bytes,
		.string_bytes = question.part[1].count,
	};
	return 0;
}
