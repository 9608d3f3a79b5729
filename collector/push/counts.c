/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/size.h"
#include "collector/base/utf8.h"
#include "collector/output/own_files.h"

#define LINE_NS UINT64_C(60000000000)

static const char *const g_names[PUSH_REASONS] = {
	[PUSH_400] = "400",
	[PUSH_401] = "401",
	[PUSH_403] = "403",
	[PUSH_404] = "404",
	[PUSH_408] = "408",
	[PUSH_413] = "413",
	[PUSH_422] = "422",
	[PUSH_429] = "429",
	[PUSH_500] = "500",
	[PUSH_502] = "502",
	[PUSH_503] = "503",
	[PUSH_504] = "504",
	[PUSH_OTHER] = "other",
	[PUSH_NETWORK] = "network",
	[PUSH_TLS] = "tls",
	[PUSH_SILENT] = "silent",
	[PUSH_NONSENSE] = "nonsense",
	[PUSH_PARTIAL] = "partial",
	[PUSH_SPOOL_FULL] = "spool_full",
	[PUSH_TOO_OLD] = "too_old",
	[PUSH_FOR_GOOD] = "refused",
	[PUSH_TOO_LARGE] = "too_large",
	[PUSH_MALFORMED] = "malformed",
};

void counts_add(struct counts *counts, enum push_reason why)
{
	counts->by[why]++;
	counts->changed = true;
}

void counts_drop(struct counts *counts, uint32_t lane, enum push_reason why,
		 long status)
{
	struct outcome *outcome = &counts->servers[lane];

	outcome->dropped[why]++;
	if (why == PUSH_FOR_GOOD)
		outcome->refused[counts_reason(status)]++;
	counts_add(counts, why);
}

enum push_reason counts_reason(long status)
{
	for (int i = PUSH_400; i < PUSH_OTHER; i++)
		if (strtol(g_names[i], NULL, 10) == status)
			return (enum push_reason)i;
	return PUSH_OTHER;
}

void counts_say(struct counts *counts, enum push_reason why, uint64_t mono_ns,
		const char *format, ...)
{
	char text[sizeof(counts->last_error)];
	size_t valid;
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	/* A server may have said anything, and the text may be cut. */
	valid = utf8_valid_bytes(text, strlen(text));
	utf8_copy(text, text, strlen(text));
	if (valid + UTF8_BYTES_MAX > sizeof(text))
		text[valid] = 0;
	memcpy(counts->last_error, text, sizeof(text));
	counts->changed = true;
	if (mono_ns < counts->lines[why].next_ns) {
		counts->lines[why].withheld++;
		return;
	}
	if (counts->lines[why].withheld)
		log_warn("%s (and %" PRIu64 " times like that before)", text,
			 counts->lines[why].withheld);
	else
		log_warn("%s", text);
	counts->lines[why].withheld = 0;
	counts->lines[why].next_ns = mono_ns + LINE_NS;
}

/* --- the last line ------------------------------------------------------- */

/* Prints the lost windows and the windows left in the spool. Returns true if
 * there are any. */
static bool print_losses(const struct outcome *outcome, const char *spool,
			 FILE *out)
{
	static const struct {
		enum push_reason why;
		const char *text;
	} reasons[] = {
		{ PUSH_TOO_LARGE, "too large for it" },
		{ PUSH_TOO_OLD, "too old for it" },
		{ PUSH_SPOOL_FULL, "no room in the spool (--push-spool)" },
		{ PUSH_MALFORMED, "damaged" },
	};
	bool lost = outcome->dropped[PUSH_FOR_GOOD] || outcome->rejected ||
		    outcome->left;
	const char *between;

	if (outcome->rejected)
		fprintf(out, "; rejected of these: %" PRIu64 " profile%s",
			outcome->rejected, size_plural(outcome->rejected));
	between = "; refused for good: ";
	for (int i = PUSH_400; i <= PUSH_OTHER; i++)
		if (outcome->refused[i]) {
			fprintf(out, "%s%" PRIu64 " (%s)", between,
				outcome->refused[i], g_names[i]);
			between = ", ";
		}
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (outcome->dropped[reasons[i].why]) {
			fprintf(out, "; %s: %" PRIu64, reasons[i].text,
				outcome->dropped[reasons[i].why]);
			lost = true;
		}
	if (outcome->left)
		fprintf(out, "; %" PRIu64 " window%s not sent stay%s in '%s'",
			outcome->left,
			outcome->left == 1 ? " that was" : "s that were",
			outcome->left == 1 ? "s" : "", spool);
	return lost;
}

void counts_say_outcome(const struct outcome *outcome, const char *given,
			const char *spool, bool quiet)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	bool lost = false;

	if (out) {
		lost = print_losses(outcome, spool, out);
		fclose(out);
	}
	if (lost || (!quiet && outcome->windows))
		log_at(lost ? LOG_WARN : LOG_INFO,
		       "%s got %" PRIu64 " window%s (%" PRIu64 " profile%s)%s",
		       given, outcome->windows, size_plural(outcome->windows),
		       outcome->profiles, size_plural(outcome->profiles),
		       text ? text : "");
	free(text);
}

/* --- push.json ------------------------------------------------------------ */

static json_t *reasons_json(const uint64_t *by, int first, int last)
{
	json_t *object = json_object();

	for (int i = first; i <= last; i++)
		if (by[i])
			json_object_set_new(object, g_names[i],
					    json_number(by[i]));
	return object;
}

static struct outcome add_outcomes(const struct counts *counts)
{
	struct outcome all = { 0 };

	for (size_t i = 0; i < SCHEDULE_LANES_MAX; i++) {
		const struct outcome *one = &counts->servers[i];

		all.windows += one->windows;
		all.profiles += one->profiles;
		all.rejected += one->rejected;
		for (int why = PUSH_400; why <= PUSH_OTHER; why++)
			all.refused[why] += one->refused[why];
	}
	return all;
}

static uint64_t dropped_windows(const struct counts *counts)
{
	uint64_t windows = 0;

	for (int i = PUSH_SPOOL_FULL; i <= PUSH_MALFORMED; i++)
		windows += counts->by[i];
	return windows;
}

static json_t *counts_json(const struct counts *counts)
{
	const struct outcome all = add_outcomes(counts);
	const struct {
		const char *name;
		uint64_t value;
	} members[] = {
		{ "pushes", counts->pushes },
		{ "pushed_windows", all.windows },
		{ "pushed_profiles", all.profiles },
		{ "rejected_profiles", all.rejected },
		{ "pushed_bytes", counts->bytes },
		{ "retries", counts->retries },
		{ "dropped_windows", dropped_windows(counts) },
		{ "merged_stacks", counts->merged_stacks },
		{ "cut_stacks", counts->cut_stacks },
		{ "dropped_labels", counts->dropped_labels },
		{ "spooled_windows", counts->spooled_windows },
		{ "spooled_bytes", counts->spooled_bytes },
		{ "last_success_unix_ns", counts->last_success_ns },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		json_object_set_new(object, members[i].name,
				    json_number(members[i].value));
	json_object_set_new(object, "refused",
			    reasons_json(counts->by, PUSH_400, PUSH_PARTIAL));
	json_object_set_new(object, "refused_windows",
			    reasons_json(all.refused, PUSH_400, PUSH_OTHER));
	json_object_set_new(
		object, "dropped",
		reasons_json(counts->by, PUSH_SPOOL_FULL, PUSH_MALFORMED));
	json_object_set_new(object, "last_error",
			    json_text(counts->last_error));
	return object;
}

static int write_object(const struct counts *counts, int fd)
{
	FILE *out = fdopen(fd, "w");
	json_t *object;
	int err = 0;

	if (!out) {
		err = -errno;
		close(fd);
		return err;
	}
	object = counts_json(counts);
	if (json_text_write(object, JSON_COMPACT, out) ||
	    fputc('\n', out) == EOF)
		err = -EIO;
	json_decref(object);
	return fclose(out) && !err ? -errno : err;
}

int counts_write(struct counts *counts, int spool_fd)
{
	int fd = own_files_create(spool_fd, PUSH_COUNTERS_NAME, 0), err;

	counts->changed = false;
	if (fd < 0)
		return fd;
	err = write_object(counts, fd);
	if (!err)
		return own_files_keep(spool_fd, PUSH_COUNTERS_NAME);
	own_files_discard(spool_fd, PUSH_COUNTERS_NAME);
	return err;
}
