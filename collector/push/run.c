/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/log.h"
#include "collector/base/random.h"
#include "collector/base/size.h"
#include "collector/output/own_files.h"
#include "collector/push/answer.h"
#include "collector/push/counts.h"
#include "collector/push/gzip.h"
#include "collector/push/sender.h"
#include "collector/push/spool.h"
#include "shared/compiler.h"

#define INPUT STDIN_FILENO
#define SECOND_NS UINT64_C(1000000000)
#define COUNTS_NS SECOND_NS
/* The rest is sent for so long without a word. */
#define SAY_NS SECOND_NS
/* A server that has had a request for so long is named. */
#define SILENCE_NS (15 * SECOND_NS)
/* Windows of one moment arrive one by one. Short, because the end of the input
 * is noticed as late. */
#define SCAN_WAIT_NS UINT64_C(50000000)
#define LOCK_WAIT_MS 200
#define SAID_BYTES 160
#define NOT_QUOTED "(the answer repeats our credentials)"

struct server {
	struct endpoint *endpoint;
	struct message message;
	uint32_t windows, profiles; /* in it */
	bool silence_said; /* of this request */
	long refused; /* the last status that refused a window for good */
	/* With one_by_one: */
	char window[SCHEDULE_NAME_BYTES]; /* the window of @part */
	size_t part; /* the kind that is being sent */
	bool part_refused; /* one of the window was, for good */
};

struct run {
	struct run_options *options;
	struct schedule schedule;
	struct spool spool;
	struct sender *sender;
	struct counts counts;
	struct server servers[SCHEDULE_LANES_MAX];
	struct schedule_time now;
	char version_header[64];
	bool has_windows; /* the spool may have some that the schedule has not
			   */
	uint64_t scan_ns; /* no look at the spool, or the input, before */
	uint64_t end_ns; /* when to stop; 0: the input goes on */
	uint64_t say_ns; /* when to say that this takes time; 0: never */
	uint64_t counts_ns; /* no push.json before */
};

static void read_time(struct run *run)
{
	run->now.mono_ns = clock_monotonic_ns();
	run->now.unix_ns = clock_read_ns(CLOCK_REALTIME);
}

#define SAY(run, why, ...) \
	counts_say(&(run)->counts, why, (run)->now.mono_ns, __VA_ARGS__)

/* --- what the schedule asks for ------------------------------------------ */

static void remove_spooled(void *context, const struct schedule_window *window)
{
	struct run *run = context;
	int err = spool_remove(&run->spool, window->name,
			       run->schedule.lane_count > 1 ? window->done : 0);

	run->counts.changed = true;
	if (err && err != -ENOENT)
		SAY(run, PUSH_SPOOL,
		    "cannot remove window '%s' of '%s', which is done: %s",
		    window->name, run->options->spool, strerror(-err));
}

static void report_lost_window(void *context,
			       const struct schedule_window *window,
			       uint32_t lane, enum schedule_end why)
{
	struct run *run = context;
	const char *given = run->options->endpoints[lane].given;

	switch (why) {
	case SCHEDULE_SENT:
		return;
	case SCHEDULE_SPOOL_FULL:
		counts_drop(&run->counts, lane, PUSH_SPOOL_FULL, 0);
		SAY(run, PUSH_SPOOL_FULL,
		    "%s did not get window '%s': the spool is full, and the "
		    "oldest windows are dropped (--push-spool)",
		    given, window->name);
		return;
	case SCHEDULE_TOO_OLD:
		counts_drop(&run->counts, lane, PUSH_TOO_OLD, 0);
		SAY(run, PUSH_TOO_OLD,
		    "%s did not get window '%s': it takes none of more than an "
		    "hour ago",
		    given, window->name);
		return;
	case SCHEDULE_REFUSED: /* the line is that of the answer */
		counts_drop(&run->counts, lane, PUSH_FOR_GOOD,
			    run->servers[lane].refused);
		return;
	case SCHEDULE_TOO_LARGE:
		counts_drop(&run->counts, lane, PUSH_TOO_LARGE, 0);
		SAY(run, PUSH_TOO_LARGE,
		    "%s did not get window '%s', which is too large for it: "
		    "choose a shorter --push-interval",
		    given, window->name);
		return;
	case SCHEDULE_MALFORMED:
		counts_drop(&run->counts, lane, PUSH_MALFORMED, 0);
		return;
	}
}

static void mark_window(void *context, const struct schedule_window *window,
			uint32_t lane)
{
	struct run *run = context;
	int err = spool_mark(&run->spool, window->name, lane);

	if (err)
		SAY(run, PUSH_SPOOL,
		    "cannot mark window '%s' of '%s' as sent: %s", window->name,
		    run->options->spool, strerror(-err));
}

static const struct schedule_ops schedule_ops = {
	.remove = remove_spooled,
	.lost = report_lost_window,
	.mark = mark_window,
};

/* --- a request ----------------------------------------------------------- */

/* Adds window @name to the message of @server. 0; -ENODATA: all its parts were
 * sent; -ENOMEM; or another -errno: it is damaged. */
static int add_spooled_window(struct run *run, struct server *server,
			      const char *name)
{
	const struct protocol *protocol = server->endpoint->protocol;
	struct push_window window;
	uint32_t profiles = 0;
	int err;

	err = window_read(run->options->spool, name, run->options->with_pid,
			  protocol->takes_files, &window);
	if (err)
		return err;
	if (protocol->one_by_one) {
		/* The schedule may have dropped the window before in the
		 * middle: it was too old, or the spool was full. */
		if (strcmp(server->window, name)) {
			snprintf(server->window, sizeof(server->window), "%s",
				 name);
			server->part = 0;
			server->part_refused = false;
		}
		while (server->part < WINDOW_KINDS &&
		       !window_has(&window, server->part))
			server->part++;
		err = server->part == WINDOW_KINDS
			      ? -ENODATA
			      : protocol->add(&server->message, &window,
					      server->part);
		profiles = 1;
	} else {
		for (size_t kind = 0; kind < WINDOW_KINDS && !err; kind++)
			if (window_has(&window, kind)) {
				err = protocol->add(&server->message, &window,
						    kind);
				profiles++;
			}
	}
	window_free(&window);
	if (!err)
		server->profiles += profiles;
	return err;
}

/* Adds the windows that the schedule has picked. -ENOMEM, or 0: without
 * windows, none was good. -ENODATA: there is no more part. -EAGAIN: one cannot
 * be read now, and the log says so. */
static int fill_message(struct run *run, uint32_t lane)
{
	struct server *server = &run->servers[lane];
	const struct schedule_window *window = NULL, *last = NULL;

	server->windows = server->profiles = 0;
	while ((window = schedule_picked(&run->schedule, lane, last))) {
		int err = add_spooled_window(run, server, window->name);

		if (err == -ENOMEM || err == -ENODATA)
			return err;
		if (!err) {
			last = window;
			server->windows++;
			continue;
		}
		/* An error of this process or machine, not of the window. */
		if (err != -EBADMSG && err != -EFBIG && err != -ENOENT) {
			SAY(run, PUSH_SPOOL,
			    "cannot read window '%s' of '%s', and will try "
			    "again: %s",
			    window->name, run->options->spool, strerror(-err));
			return -EAGAIN;
		}
		SAY(run, PUSH_MALFORMED,
		    "window '%s' of '%s' is damaged (%s): it is dropped",
		    window->name, run->options->spool, strerror(-err));
		/* The windows behind it move up. */
		schedule_drop(&run->schedule, lane, window, SCHEDULE_MALFORMED);
	}
	return 0;
}

static int make_message(struct run *run, uint32_t lane)
{
	struct server *server = &run->servers[lane];
	struct message *message = &server->message;
	struct bytes plain;
	int err;

	message_release(message);
	err = fill_message(run, lane);
	if (err || !server->windows)
		return err;
	err = server->endpoint->protocol->finish(message);
	if (err || !server->endpoint->protocol->gzip)
		return err;
	plain = message->body;
	message->body = (struct bytes){ 0 };
	err = gzip_put(plain.at, plain.count, GZIP_FAST, &message->body);
	bytes_release(&plain);
	return err;
}

static int start_request(struct run *run, uint32_t lane)
{
	struct server *server = &run->servers[lane];
	const char *const headers[] = {
		server->endpoint->protocol == &protocol_otlp &&
				run->options->otlp_version
			? run->version_header
			: NULL,
		NULL,
	};
	int err = make_message(run, lane);

	server->silence_said = false;
	if (err == -ENODATA) {
		if (server->part_refused) {
			schedule_refused(&run->schedule, lane);
		} else {
			run->counts.servers[lane].windows++;
			schedule_accepted(&run->schedule, lane);
		}
		server->window[0] = '\0';
		return 0;
	}
	/* They are damaged, or another lane found so and dropped them. */
	if (!err && !server->windows) {
		schedule_accepted(&run->schedule, lane);
		return 0;
	}
	if (!err)
		err = sender_start(run->sender, lane, server->endpoint,
				   &server->message, headers);
	return err;
}

static void start_lane(struct run *run, uint32_t lane)
{
	int err = start_request(run, lane);

	if (!err)
		return;
	if (err != -EAGAIN)
		SAY(run, PUSH_OTHER, "cannot make a request for %s: %s",
		    run->servers[lane].endpoint->given, strerror(-err));
	message_release(&run->servers[lane].message);
	schedule_again(&run->schedule, lane, &run->now, 0, random_u64());
}

/* --- an answer ----------------------------------------------------------- */

static void read_said(const struct endpoint *endpoint,
		      const struct sender_answer *answer, char *out)
{
	size_t count = MIN(answer->count, (size_t)SAID_BYTES - 1);

	if (endpoint_secret_in(endpoint, answer->body, answer->count)) {
		snprintf(out, SAID_BYTES, NOT_QUOTED);
		return;
	}
	for (size_t i = 0; i < count; i++)
		out[i] = isprint(answer->body[i]) ? (char)answer->body[i] : ' ';
	while (count && out[count - 1] == ' ')
		count--;
	out[count] = 0;
}

static void take_accepted(struct run *run, uint32_t lane)
{
	struct server *server = &run->servers[lane];
	struct counts *counts = &run->counts;

	counts->pushes++;
	counts->servers[lane].profiles += server->profiles;
	counts->bytes += server->message.body.count;
	counts->merged_stacks += server->message.fitted.merged;
	counts->cut_stacks += server->message.fitted.cut;
	counts->last_success_ns = run->now.unix_ns;
	counts->changed = true;
	if (server->message.labels_dropped) {
		run->counts.dropped_labels += server->message.labels_dropped;
		SAY(run, PUSH_FITTED,
		    "%s takes %d labels: the last attributes of a resource are "
		    "left out",
		    server->endpoint->given, LABELS_MAX);
	}
	if (server->endpoint->protocol->one_by_one) {
		server->part++;
		start_lane(run, lane);
		return;
	}
	counts->servers[lane].windows += server->windows;
	schedule_accepted(&run->schedule, lane);
}

static void take_again(struct run *run, uint32_t lane, uint64_t server_ns)
{
	run->counts.retries++;
	schedule_again(&run->schedule, lane, &run->now, server_ns,
		       random_u64());
}

/* The server will not take the message, whenever it is sent. */
static void take_refused(struct run *run, uint32_t lane, enum push_reason why,
			 long status, const char *said)
{
	struct server *server = &run->servers[lane];

	SAY(run, why, "%s refused %" PRIu32 " window%s for good (%ld): %s",
	    server->endpoint->given, server->windows,
	    size_plural(server->windows), status, said);
	server->refused = status;
	if (server->endpoint->protocol->one_by_one) {
		server->part_refused = true;
		server->part++;
		start_lane(run, lane);
		return;
	}
	schedule_refused(&run->schedule, lane);
}

static void take_too_large(struct run *run, uint32_t lane, const char *said)
{
	struct server *server = &run->servers[lane];

	if (server->endpoint->protocol->one_by_one) {
		take_refused(run, lane, PUSH_413, 413, said);
		return;
	}
	SAY(run, PUSH_413, "%s finds %" PRIu32 " window%s too large (413). %s",
	    server->endpoint->given, server->windows,
	    size_plural(server->windows), said);
	schedule_too_large(&run->schedule, lane);
}

/* Says why nothing of this sort gets through, and tries again later: a person
 * may mend it. */
static void take_misled(struct run *run, uint32_t lane, enum push_reason why,
			long status, const char *said)
{
	struct endpoint *endpoint = run->servers[lane].endpoint;

	if (status == 401 || status == 403)
		SAY(run, why, "%s denies access (%ld): set %s. %s",
		    endpoint->given, status, endpoint_variables(endpoint),
		    said);
	else if (status >= 300 && status < 400)
		SAY(run, why,
		    "%s redirects to another server (%ld), and credentials "
		    "must not go there: correct the URL",
		    endpoint->given, status);
	else if (status >= 200 && status < 300)
		SAY(run, why,
		    "%s answers (%ld), but not as a server of %s does: correct "
		    "the URL, or the proxy in between. %s",
		    endpoint->given, status, endpoint->protocol->server, said);
	else
		SAY(run, why, "%s has no '%s' (%ld): correct the URL. %s",
		    endpoint->given, endpoint->protocol->path, status, said);
	take_again(run, lane, 0);
	/* The file may have been corrected; if not, it has said so. */
	endpoint_load(endpoint, run->options->auth_path);
}

static void take_status(struct run *run, const struct sender_answer *answer)
{
	const uint32_t lane = answer->lane;
	const struct endpoint *endpoint = run->servers[lane].endpoint;
	enum push_reason why = counts_reason(answer->status);
	char said[SAID_BYTES];
	struct answer_partial partial;

	if (answer->status >= 200 && answer->status < 300 &&
	    answer_read(endpoint->protocol, answer, &partial)) {
		const bool secret = endpoint_secret_in(endpoint, answer->body,
						       answer->count);

		if (partial.rejected || *partial.text) {
			counts_add(&run->counts, PUSH_PARTIAL);
			run->counts.servers[lane].rejected += partial.rejected;
			SAY(run, PUSH_PARTIAL,
			    "%s took a part only: it rejected %" PRIu64
			    " profiles: %s",
			    endpoint->given, partial.rejected,
			    secret ? NOT_QUOTED : partial.text);
		}
		take_accepted(run, lane);
		return;
	}
	if (answer->status >= 200 && answer->status < 300)
		why = PUSH_NONSENSE;
	read_said(endpoint, answer, said);
	counts_add(&run->counts, why);
	switch (answer->status) {
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		SAY(run, why, "%s asks perfrec-push to wait (%ld). %s",
		    endpoint->given, answer->status, said);
		take_again(run, lane, answer->retry_after_ns);
		return;
	case 413:
		take_too_large(run, lane, said);
		return;
	case 401:
	case 403:
	case 404:
	case 405:
		take_misled(run, lane, why, answer->status, said);
		return;
	default:
		if (answer->status < 400)
			take_misled(run, lane, why, answer->status, said);
		else
			take_refused(run, lane, why, answer->status, said);
	}
}

static void say_silent(struct run *run, uint32_t lane, uint64_t ns)
{
	struct server *server = &run->servers[lane];

	if (!server->silence_said)
		SAY(run, PUSH_SILENT, "%s does not answer (%" PRIu64 " s)",
		    server->endpoint->given, ns / SECOND_NS);
	server->silence_said = true;
}

static void report_answer(struct run *run, const struct sender_answer *answer)
{
	const struct server *server = &run->servers[answer->lane];

	switch (answer->result) {
	case SENDER_ANSWERED:
		take_status(run, answer);
		return;
	case SENDER_NETWORK:
		counts_add(&run->counts, PUSH_NETWORK);
		SAY(run, PUSH_NETWORK, "cannot reach %s: %s",
		    server->endpoint->given, answer->text);
		break;
	case SENDER_SILENT:
		counts_add(&run->counts, PUSH_SILENT);
		say_silent(run, answer->lane, answer->taken_ns);
		break;
	case SENDER_TLS:
		counts_add(&run->counts, PUSH_TLS);
		SAY(run, PUSH_TLS,
		    "cannot trust %s: %s; SSL_CERT_FILE may name the "
		    "certificates to trust",
		    server->endpoint->given, answer->text);
		break;
	}
	take_again(run, answer->lane, 0);
}

/* --- the loop ------------------------------------------------------------ */

static void write_counts(struct run *run, bool at_once)
{
	struct counts *counts = &run->counts;
	int err;

	if (!counts->changed || (!at_once && run->now.mono_ns < run->counts_ns))
		return;
	run->counts_ns = run->now.mono_ns + COUNTS_NS;
	counts->spooled_windows =
		run->schedule.count + run->schedule.left_windows;
	counts->spooled_bytes = run->schedule.bytes + run->schedule.left_bytes;
	err = counts_write(counts, run->spool.fd);
	if (err)
		SAY(run, PUSH_SPOOL,
		    "cannot write '%s/" PUSH_COUNTERS_NAME "': %s",
		    run->options->spool, strerror(-err));
}

/* Logs the servers that do not answer a request; with @ending also requests
 * that were sent recently. */
static void say_silences(struct run *run, bool ending)
{
	for (uint32_t i = 0; i < run->schedule.lane_count; i++) {
		uint64_t ns = sender_silent_ns(run->sender, i);

		if (ns >= (ending ? SAY_NS : SILENCE_NS))
			say_silent(run, i, ns);
	}
}

static void say_rest(struct run *run)
{
	if (!run->say_ns || run->now.mono_ns < run->say_ns)
		return;
	run->say_ns = 0;
	for (uint32_t i = 0; i < run->schedule.lane_count; i++) {
		size_t left = schedule_left(&run->schedule, i);

		if (left)
			log_info("sending the last %zu window%s to %s, for "
				 "%" PRIu64 " s at most (Ctrl-C leaves them in "
				 "the spool)",
				 left, size_plural(left),
				 run->servers[i].endpoint->given,
				 (run->end_ns - run->now.mono_ns) / SECOND_NS);
	}
}

static uint64_t wait_ns(const struct run *run)
{
	const uint64_t now_ns = run->now.mono_ns;
	uint64_t wait = schedule_idle_ns(&run->schedule, &run->now);

	if (run->has_windows)
		wait = MIN(wait, run->scan_ns - MIN(run->scan_ns, now_ns));
	if (run->counts.changed)
		wait = MIN(wait, run->counts_ns - MIN(run->counts_ns, now_ns));
	if (run->end_ns)
		wait = MIN(wait, run->end_ns - MIN(run->end_ns, now_ns));
	if (run->say_ns)
		wait = MIN(wait, run->say_ns - MIN(run->say_ns, now_ns));
	for (uint32_t i = 0; i < run->schedule.lane_count; i++)
		if (run->schedule.lanes[i].is_busy &&
		    !run->servers[i].silence_said)
			wait = MIN(wait, SILENCE_NS);
	return wait;
}

static void read_input(struct run *run)
{
	char bytes[4096];
	ssize_t got = read(INPUT, bytes, sizeof(bytes));

	/* Each byte announces a window. */
	if (got > 0) {
		run->has_windows = true;
		run->scan_ns = run->now.mono_ns + SCAN_WAIT_NS;
	} else if (!got || (errno != EINTR && errno != EAGAIN)) {
		run->has_windows = true;
		run->scan_ns = 0;
		run->end_ns = run->now.mono_ns + run->options->linger_ns;
		run->say_ns =
			run->options->quiet ? 0 : run->now.mono_ns + SAY_NS;
		schedule_end(&run->schedule, &run->now);
	}
}

/* The next wait ends by the input, or, after the end of the input, by a signal. */
static int wait_fd(const struct run *run)
{
	if (run->end_ns)
		return run->options->stop_fd;
	return run->has_windows ? -1 : INPUT;
}

static bool is_over(const struct run *run)
{
	return run->end_ns && !run->has_windows &&
	       ((!run->schedule.count && !run->schedule.left_windows) ||
		run->now.mono_ns >= run->end_ns);
}

static void send_windows(struct run *run)
{
	struct sender_answer answer;

	while (!is_over(run)) {
		if (run->schedule.left_windows &&
		    run->schedule.count <= SCHEDULE_WINDOWS_MAX / 2) {
			run->schedule.left_windows = run->schedule.left_bytes =
				0;
			run->has_windows = true;
		}
		if (run->has_windows && run->now.mono_ns >= run->scan_ns) {
			int err = spool_scan(&run->spool, &run->schedule,
					     &run->now);

			run->has_windows = false;
			run->counts.changed = true;
			if (err)
				SAY(run, PUSH_SPOOL, "cannot read '%s': %s",
				    run->options->spool, strerror(-err));
		}
		schedule_expire(&run->schedule, &run->now);
		for (uint32_t i = 0; i < run->schedule.lane_count; i++)
			if (schedule_pick(&run->schedule, i, &run->now))
				start_lane(run, i);
		write_counts(run, false);
		if (is_over(run))
			break;
		if (run->end_ns)
			say_rest(run);
		if (sender_wait(run->sender, wait_fd(run), wait_ns(run))) {
			read_time(run);
			if (run->end_ns)
				run->end_ns = run->now.mono_ns;
			else
				read_input(run);
		}
		read_time(run);
		say_silences(run, false);
		while (sender_answer(run->sender, &answer))
			report_answer(run, &answer);
	}
}

/* Waits for the lock while another perfrec-push has the spool, such as the one
 * of a recording that has just ended. */
static int open_spool(struct run *run)
{
	struct pollfd input = { .fd = INPUT, .events = POLLIN };
	const char *path = run->options->spool;
	int err;

	while ((err = spool_open(path, &run->spool)) == -EBUSY) {
		char bytes[4096];

		if (poll(&input, 1, LOCK_WAIT_MS) <= 0)
			continue;
		if (read(INPUT, bytes, sizeof(bytes)) <= 0) {
			log_err("another perfrec-push has '%s', and sends what "
				"is in it",
				path);
			return err;
		}
	}
	if (err)
		log_err("cannot open the spool '%s': %s", path, strerror(-err));
	return err;
}

static void set_lanes(struct run *run)
{
	struct run_options *options = run->options;

	run->schedule.ops = &schedule_ops;
	run->schedule.context = run;
	run->schedule.bytes_max = options->spool_bytes;
	run->schedule.lane_count = options->endpoint_count;
	for (uint32_t i = 0; i < options->endpoint_count; i++) {
		const struct protocol *protocol =
			options->endpoints[i].protocol;

		run->servers[i].endpoint = &options->endpoints[i];
		run->servers[i].message.with_pid = options->with_pid;
		run->schedule.lanes[i] = (struct schedule_lane){
			.batch_max = protocol->batch_max,
			.batch_bytes = protocol->batch_bytes,
			.age_max_ns = protocol->age_max_ns,
		};
	}
	run->spool.endpoints = options->endpoints;
	snprintf(run->version_header, sizeof(run->version_header),
		 "OTLP-Profiles-Development-Version: %" PRIu32,
		 options->otlp_version);
}

int run(struct run_options *options)
{
	struct run run = { .options = options, .has_windows = true };

	if (open_spool(&run))
		return 1;
	set_lanes(&run);
	run.sender = sender_new(options->endpoint_count,
				(long)(options->timeout_ns / SECOND_NS));
	if (!run.sender) {
		log_err("not enough memory");
		spool_close(&run.spool);
		return 1;
	}
	read_time(&run);
	spool_remove_left(&run.spool);
	send_windows(&run);
	say_silences(&run, true);
	run.counts.changed = true;
	write_counts(&run, true);
	for (uint32_t i = 0; i < options->endpoint_count; i++) {
		run.counts.servers[i].left = schedule_left(&run.schedule, i);
		counts_say_outcome(&run.counts.servers[i],
				   options->endpoints[i].given, options->spool,
				   options->quiet);
	}
	sender_free(run.sender);
	for (uint32_t i = 0; i < options->endpoint_count; i++)
		message_release(&run.servers[i].message);
	schedule_release(&run.schedule);
	spool_close(&run.spool);
	return 0;
}
