/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/output/unwritten.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "collector/base/log.h"
#include "collector/base/size.h"
#include "shared/compiler.h"

#define MORE ", ..."

void unwritten_add(struct unwritten *unwritten, const char *name, int err)
{
	struct unwritten_cause *cause = unwritten->cause;
	struct unwritten_cause *last = cause + UNWRITTEN_CAUSES - 1;
	size_t used, room;
	const char *before;

	if (!err)
		return;
	while (cause < last && cause->err && cause->err != err)
		cause++;
	if (!cause->err)
		cause->err = err;
	used = strlen(cause->names);
	room = UNWRITTEN_NAMES - sizeof(MORE) - used;
	before = used ? ", " : "";
	/* The mark ends the list. */
	if (used >= strlen(MORE) &&
	    strcmp(cause->names + used - strlen(MORE), MORE) == 0)
		return;
	if (strlen(before) + strlen(name) > room)
		snprintf(cause->names + used, sizeof(MORE), MORE);
	else
		snprintf(cause->names + used, room + 1, "%s%s", before, name);
}

bool unwritten_file_limit(char text[UNWRITTEN_LIMIT_TEXT])
{
	struct rlimit limit;
	char size[SIZE_TEXT];

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
	    limit.rlim_cur == RLIM_INFINITY)
		return false;
	snprintf(text, UNWRITTEN_LIMIT_TEXT,
		 "ulimit -f allows no more than %s: raise it",
		 size_format_bytes(limit.rlim_cur, size));
	return true;
}

const char *unwritten_way_out(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "make room there, or choose another folder with -o";
	case -EMFILE:
		return "raise ulimit -n";
	case -ENOMEM:
		return "free memory, or raise ulimit -v";
	case -EAGAIN: /* no thread to write with */
		return "raise ulimit -u or ulimit -v";
	default:
		return "choose another folder with -o";
	}
}

static void log_unwritten(const char *names, const char *dir, int err)
{
	char limit[UNWRITTEN_LIMIT_TEXT];
	const char *way_out = unwritten_way_out(err), *more = "";

	if (err == -EFBIG && unwritten_file_limit(limit)) {
		way_out = limit;
		more = ", or record less, see --max-size";
	}
	log_err("cannot write all of %s in '%s': %s (%s%s)", names, dir,
		strerror(-err), way_out, more);
}

int unwritten_log(struct unwritten *unwritten, const char *dir)
{
	int first = unwritten->cause[0].err;

	for (size_t i = 0; i < UNWRITTEN_CAUSES; i++) {
		const struct unwritten_cause *cause = &unwritten->cause[i];

		if (cause->err)
			log_unwritten(cause->names, dir, cause->err);
	}
	*unwritten = (struct unwritten){ 0 };
	return first;
}

void unwritten_say(int *said, const char *dir, const char *name, int err)
{
	if (err && err != *said)
		log_unwritten(name, dir, err);
	*said = err;
}
