/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize - the collector's side of symbolize_wire.h.
 *
 * The process gets the addresses in a memfd, so it never waits for us. It
 * answers over a socket and complains over a pipe; both are read until they are
 * closed or time is up. Then it is killed and waited for.
 */
#include "collector/names/symbolize.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/limit_hint.h"
#include "collector/base/pulse.h"
#include "collector/names/call_layout.h"
#include "collector/names/fd_message.h"
#include "collector/names/helper.h"
#include "collector/names/symbol_name.h"
#include "collector/names/symbolize_wire.h"
#include "shared/compiler.h"
#include "shared/environment.h"

#define LINE_BYTES 96u

#define PROGRAM "perfrec-symbolize"
#define PROGRAM_VARIABLE "PERFREC_SYMBOLIZE"

struct input {
	struct helper *helper;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	char bytes[64 << 10];
	size_t at, end;
	char *why;
	size_t why_bytes;
	bool is_late;
	bool is_over; /* end of the answer */
};

/* --- its answer ---------------------------------------------------------- */

static void read_complaint(struct input *input)
{
	char drain[512];
	ssize_t got = read(input->helper->complaint, drain, sizeof(drain));
	size_t room = SYMBOLIZE_WHY_BYTES - 1 - input->why_bytes;

	if (got <= 0) {
		helper_close(&input->helper->complaint, 1);
		input->helper->complaint = -1;
		return;
	}
	room = MIN(room, (size_t)got);
	memcpy(input->why + input->why_bytes, drain, room);
	input->why_bytes += room;
	input->why[input->why_bytes] = '\0';
}

/* Reads complaints while waiting for @fd. Returns false if time is up. */
static bool wait_for_input(struct input *input, int fd)
{
	struct helper *helper = input->helper;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = helper->complaint, .events = POLLIN },
		};
		int left_ms = helper_patience_ms(input->deadline_ns);

		input->is_late = !left_ms;
		if (input->is_late)
			return false;
		if (poll(fds, 2, left_ms) < 0 && errno != EINTR)
			return false;
		if (fds[1].revents)
			read_complaint(input);
		if (fds[0].revents)
			return true;
	}
}

static bool read_symbolize_answer(struct input *input)
{
	size_t left = input->end - input->at;
	ssize_t got;

	memmove(input->bytes, input->bytes + input->at, left);
	input->at = 0;
	input->end = left;
	if (!wait_for_input(input, input->helper->answer))
		return false;
	got = read(input->helper->answer, input->bytes + left,
		   sizeof(input->bytes) - left);
	input->is_over = got <= 0;
	if (input->is_over)
		return false;
	input->end += (size_t)got;
	return true;
}

/* Returns NULL at the end, or for a very long line. */
static const char *next_line(struct input *input)
{
	for (;;) {
		char *start = input->bytes + input->at;
		size_t length = input->end - input->at;
		char *newline = memchr(start, '\n', MIN(length, LINE_BYTES));

		if (newline) {
			*newline = '\0';
			input->at += (size_t)(newline + 1 - start);
			return start;
		}
		if (length >= LINE_BYTES || !read_symbolize_answer(input))
			return NULL;
	}
}

static bool next_text(struct input *input, size_t bytes, char *out)
{
	if (bytes > SYMBOLIZE_TEXT_MAX)
		return false;
	while (input->end - input->at <= bytes)
		if (!read_symbolize_answer(input))
			return false;
	memcpy(out, input->bytes + input->at, bytes);
	out[bytes] = '\0';
	input->at += bytes + 1;
	return input->bytes[input->at - 1] == '\n';
}

static bool next_frame(struct input *input, uint64_t vaddr,
		       symbolize_visit *visit, void *context)
{
	char function[SYMBOLIZE_TEXT_MAX + 1], file[SYMBOLIZE_TEXT_MAX + 1];
	struct symbolize_frame frame = { .function = function, .file = file };
	const char *line = next_line(input);
	size_t function_bytes, file_bytes;

	if (!line ||
	    sscanf(line, "f %" SCNu32 " %" SCNu32 " %zu %zu", &frame.line,
		   &frame.start_line, &function_bytes, &file_bytes) != 4 ||
	    !next_text(input, function_bytes, function) ||
	    !next_text(input, file_bytes, file))
		return false;
	visit(context, vaddr, &frame);
	return true;
}

static bool next_address(struct input *input, uint64_t vaddr,
			 symbolize_visit *visit, void *context)
{
	const char *line = next_line(input);
	size_t frames;
	uint64_t got;

	if (!line || sscanf(line, "a %" SCNx64 " %zu", &got, &frames) != 2 ||
	    got != vaddr || frames > SYMBOLIZE_FRAMES_MAX)
		return false;
	while (frames--)
		if (!next_frame(input, vaddr, visit, context))
			return false;
	return true;
}

/* Reads a line of @bytes and its end into a name, cut to its room. */
static bool next_call_name(struct input *input, size_t bytes,
			   char out[CALL_NAME_BYTES])
{
	char text[SYMBOLIZE_TEXT_MAX + 1];

	if (!next_text(input, bytes, text))
		return false;
	text[CALL_NAME_BYTES - 1] = '\0';
	symbol_name_clean(text);
	strcpy(out, text);
	return true;
}

static bool next_enumerators(struct input *input, uint32_t count,
			     struct call_value *out)
{
	if (count > CALL_ENUMERATORS_MAX)
		return false;
	out->names = count ? calloc(count, sizeof(*out->names)) : NULL;
	if (count && !out->names)
		return false;
	for (; out->name_count < count; out->name_count++) {
		struct call_enumerator *name = &out->names[out->name_count];
		const char *line = next_line(input);
		size_t bytes;

		if (!line ||
		    sscanf(line, "n %" SCNd64 " %zu", &name->value, &bytes) !=
			    2 ||
		    !next_call_name(input, bytes, name->name))
			return false;
	}
	return true;
}

static bool next_call_value(struct input *input, struct call_value *out)
{
	const char *line = next_line(input);
	uint32_t kind, value_bytes, word, names;
	size_t bytes;

	if (!line ||
	    sscanf(line,
		   "v %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %zu",
		   &kind, &value_bytes, &word, &names, &bytes) != 5 ||
	    kind >= CALL_VALUE_KINDS || value_bytes > UINT8_MAX ||
	    word > UINT8_MAX)
		return false;
	out->kind = (uint8_t)kind;
	out->bytes = (uint8_t)value_bytes;
	out->word = (uint8_t)word;
	return next_call_name(input, bytes, out->name) &&
	       next_enumerators(input, names, out);
}

/* Passes the answer about @vaddr on. */
static bool next_call(struct input *input, uint64_t vaddr,
		      symbolize_visit_call *visit, void *context)
{
	const char *line = next_line(input);
	struct call_layout layout = { 0 };
	uint32_t values;
	uint64_t got;
	bool whole;

	if (!line ||
	    sscanf(line, "c %" SCNx64 " %" SCNu32, &got, &values) != 2 ||
	    got != vaddr || values > CALL_VALUES_MAX + 1)
		return false;
	if (!values) {
		visit(context, vaddr, NULL);
		return true;
	}
	whole = next_call_value(input, &layout.result);
	while (whole && --values)
		whole = next_call_value(input, call_layout_add(&layout));
	if (whole)
		visit(context, vaddr, &layout);
	call_layout_release(&layout);
	return whole;
}

/* --- requests ------------------------------------------------------------ */

static int write_addresses(const struct symbolize_request *request)
{
	int fd = memfd_create("perfrec-addresses", MFD_CLOEXEC);
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
	int err = file ? 0 : -errno;

	if (file) {
		for (size_t i = 0; i < request->count; i++)
			fprintf(file, "%" PRIx64 "\n", request->vaddr[i]);
		if (ferror(file))
			err = -ENOSPC;
		if (fclose(file) || lseek(fd, 0, SEEK_SET) < 0)
			err = -errno;
	} else {
		helper_close(&copy, 1);
	}
	if (!err)
		return fd;
	helper_close(&fd, 1);
	return err;
}

static void say_why(char *why, const char *format, ...) ATTR_PRINTF(2, 3);
static void say_why(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, SYMBOLIZE_WHY_BYTES, format, args);
	va_end(args);
}

static void say_no_symbolize_start(char *why, int err)
{
	const char *told = helper_told_path(PROGRAM_VARIABLE);

	if (*limit_hint(err))
		say_why(why, "cannot start perfrec-symbolize: %s%s",
			strerror(-err), limit_hint(err));
	else if (told)
		say_why(why, "cannot start '%.200s': %s; see PERFREC_SYMBOLIZE",
			told, strerror(-err));
	else
		say_why(why,
			"cannot start perfrec-symbolize: %s; install perfrec "
			"again",
			strerror(-err));
}

/* Keeps the complaint of the process unless the collector knows more. A closed
 * pipe after a malformed answer is no cause. */
static void explain_symbolize_failure(struct input *input, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char *why = input->why;

	why[strcspn(why, "\n")] = '\0';
	symbol_name_clean(why);
	if (input->is_late)
		say_why(why, "perfrec-symbolize took too long");
	else if (signal == SIGXCPU)
		say_why(why, "perfrec-symbolize reached its limit of CPU time");
	else if (signal && signal != SIGKILL && signal != SIGPIPE)
		say_why(why, "perfrec-symbolize crashed (signal %d)", signal);
	else if (!why[0] || !input->is_over)
		say_why(why, "perfrec-symbolize gave no whole answer");
}

typedef bool answer_reader(struct input *input, void *context);

struct run {
	const char *arguments[2];
	char *const *env;
	int *fds;
	int fd_count;
	unsigned int seconds;
	answer_reader *reader;
	void *context;
};

static int run_child(const struct run *run, char why[SYMBOLIZE_WHY_BYTES])
{
	char path[PATH_MAX];
	char *argv[] = { path, (char *)run->arguments[0],
			 (char *)run->arguments[1], NULL };
	struct helper helper;
	struct input *input = calloc(1, sizeof(*input));
	int err =
		input ? helper_find(PROGRAM, PROGRAM_VARIABLE, path) : -ENOMEM;
	const char *before;
	bool is_whole;
	int status;

	if (!err)
		err = helper_start(argv, run->env, run->fds, run->fd_count,
				   &helper);
	if (err) {
		say_no_symbolize_start(why, err);
		free(input);
		return err;
	}
	input->helper = &helper;
	input->deadline_ns =
		clock_monotonic_ns() + run->seconds * 1000000000ull;
	input->why = why;
	why[0] = '\0';
	before = pulse_step("waits for perfrec-symbolize");
	is_whole = run->reader(input, run->context);
	(void)pulse_step(before);
	helper_close(&helper.answer, 1); /* it must not wait for us */
	helper.answer = -1;
	while (!is_whole && helper.complaint >= 0 &&
	       wait_for_input(input, helper.complaint))
		;
	status = helper_end(&helper);
	if (!is_whole) {
		helper_count_failed();
		explain_symbolize_failure(input, status);
	}
	free(input);
	return is_whole ? 0 : -EBADMSG;
}

struct lines {
	const struct symbolize_request *request;
	symbolize_visit *visit;
	void *context;
};

static bool read_line_frames(struct input *input, void *context)
{
	const struct lines *lines = context;
	const char *line;

	for (size_t i = 0; i < lines->request->count; i++)
		if (!next_address(input, lines->request->vaddr[i], lines->visit,
				  lines->context))
			return false;
	line = next_line(input);
	return line && !strcmp(line, SYMBOLIZE_END);
}

struct calls {
	const struct symbolize_request *request;
	symbolize_visit_call *visit;
	void *context;
};

static bool read_calls(struct input *input, void *context)
{
	const struct calls *calls = context;
	const char *line;

	for (size_t i = 0; i < calls->request->count; i++)
		if (!next_call(input, calls->request->vaddr[i], calls->visit,
			       calls->context))
			return false;
	line = next_line(input);
	return line && !strcmp(line, SYMBOLIZE_END);
}

/* Runs "perfrec-symbolize @what" for the addresses of @request. */
static int ask_about_addresses(const char *what,
			       const struct symbolize_request *request,
			       answer_reader *reader, void *context,
			       char why[SYMBOLIZE_WHY_BYTES])
{
	char quiet[] = ENV_NOT_RECORDED, *env[] = { quiet, NULL };
	int addresses = write_addresses(request);
	int own_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fds[] = {
		[STDIN_FILENO] = addresses,
		[SYMBOLIZE_ELF_FD] = request->elf_fd,
		[SYMBOLIZE_ALT_FD] = request->alt_fd,
		[SYMBOLIZE_ROOT_FD] =
			request->root_fd < 0 ? own_root : request->root_fd,
	};
	const struct run run = {
		.arguments = { what },
		.env = env,
		.fds = fds,
		.fd_count = ARRAY_SIZE(fds),
		.seconds = request->seconds,
		.reader = reader,
		.context = context,
	};
	int err = addresses < 0 ? addresses : 0;

	if (err)
		say_why(why, "cannot store addresses: %s", strerror(-err));
	else
		err = run_child(&run, why);
	helper_close(&addresses, 1);
	helper_close(&own_root, 1);
	return err;
}

int symbolize_lines(const struct symbolize_request *request,
		    symbolize_visit *visit, void *context,
		    char why[SYMBOLIZE_WHY_BYTES])
{
	struct lines lines = { request, visit, context };

	return ask_about_addresses("lines", request, read_line_frames, &lines,
				   why);
}

int symbolize_calls(const struct symbolize_request *request,
		    symbolize_visit_call *visit, void *context,
		    char why[SYMBOLIZE_WHY_BYTES])
{
	struct calls calls = { request, visit, context };

	return ask_about_addresses("calls", request, read_calls, &calls, why);
}

/* Drops variables that load libraries. */
static char **fetch_environment(void)
{
	static char quiet[] = ENV_NOT_RECORDED;
	size_t count = 0, kept = 0;
	char **env;

	while (environ[count])
		count++;
	env = calloc(count + 1, sizeof(*env));
	for (size_t i = 0; env && i < count; i++)
		if (!strncmp(environ[i], "LD_PRELOAD=", 11))
			env[kept++] = quiet;
		else if (strncmp(environ[i], "LD_", 3) != 0)
			env[kept++] = environ[i];
	return env;
}

static bool read_input_descriptor(struct input *input, void *context)
{
	int *out = context, fds[FD_MESSAGE_MAX];
	unsigned int count;
	char byte = 0; /* for cppcheck */

	if (!wait_for_input(input, input->helper->answer))
		return false;
	input->is_over = fd_message_receive(input->helper->answer, &byte, 1,
					    fds, &count, 0) < 0;
	if (input->is_over || count != 1) {
		helper_close(fds, (int)count);
		return false;
	}
	*out = fds[0];
	return true;
}

int symbolize_fetch(const char *build_id, unsigned int seconds, int *out,
		    char why[SYMBOLIZE_WHY_BYTES])
{
	int fds[] = { [STDIN_FILENO] = -1, [STDERR_FILENO] = -1 };
	char **env = fetch_environment();
	const struct run fetch_run = {
		.arguments = { "fetch", build_id },
		.env = env,
		.fds = fds,
		.fd_count = ARRAY_SIZE(fds),
		.seconds = seconds,
		.reader = read_input_descriptor,
		.context = out,
	};
	int err;

	if (!env) {
		say_why(why, "not enough memory");
		return -ENOMEM;
	}
	err = run_child(&fetch_run, why);
	free(env);
	return err;
}
