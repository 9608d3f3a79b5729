/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwritten.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "collector/log.h"
#include "shared/compiler.h"

#define MORE ", ..."

static void add_name(char names[UNWRITTEN_NAMES], const char *name)
{
	size_t used = strlen(names);
	size_t room = UNWRITTEN_NAMES - sizeof(MORE) - used;
	const char *before = used ? ", " : "";

	/* What comes behind the mark is not there. */
	if (used >= strlen(MORE) &&
	    strcmp(names + used - strlen(MORE), MORE) == 0)
		return;
	if (strlen(before) + strlen(name) > room)
		snprintf(names + used, sizeof(MORE), MORE);
	else
		snprintf(names + used, room + 1, "%s%s", before, name);
}

void unwritten_add(struct unwritten *unwritten, const char *name, int err)
{
	struct unwritten_cause *cause = unwritten->cause;
	struct unwritten_cause *last = cause + UNWRITTEN_CAUSES - 1;

	if (!err)
		return;
	while (cause < last && cause->err && cause->err != err)
		cause++;
	if (!cause->err)
		cause->err = err;
	add_name(cause->names, name);
}

static const char *way_out(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "make room there, or choose another folder with -o";
	case -EFBIG:
		return "see ulimit -f";
	default:
		return "choose another folder with -o";
	}
}

static void say(const char *names, const char *dir, int err)
{
	log_err("cannot write all of %s in '%s': %s (%s)", names, dir,
		strerror(-err), way_out(err));
}

int unwritten_log(struct unwritten *unwritten, const char *dir)
{
	int first = unwritten->cause[0].err;

	for (size_t i = 0; i < UNWRITTEN_CAUSES; i++) {
		const struct unwritten_cause *cause = &unwritten->cause[i];

		if (cause->err)
			say(cause->names, dir, cause->err);
	}
	*unwritten = (struct unwritten){ 0 };
	return first;
}

void unwritten_say(int *said, const char *dir, const char *name, int err)
{
	if (err && err != *said)
		say(name, dir, err);
	*said = err;
}
