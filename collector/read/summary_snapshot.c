/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/read/summary_snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/base/json_text.h"
#include "collector/output/own_files.h"
#include "shared/compiler.h"

#define NOTE_BYTES 512
#define NOTES_MAX 8
#define WHY_BYTES_MAX (1 << 20)

/* Returns why.json of @dir, which may be hostile; NULL: none that is
 * readable. */
static json_t *read_why(const char *dir)
{
	char path[PATH_MAX], *text = NULL;
	ssize_t got = -1;
	json_t *why = NULL;
	int fd = -1;

	if (snprintf(path, sizeof(path), "%s/" WHY_NAME, dir) < PATH_MAX)
		fd = own_files_open(path);
	if (fd >= 0)
		text = malloc(WHY_BYTES_MAX);
	if (text)
		got = read(fd, text, WHY_BYTES_MAX);
	if (got > 0)
		why = json_loadb(text, (size_t)got, 0, NULL);
	free(text);
	if (fd >= 0)
		close(fd);
	return why;
}

static bool is_snapshot(const json_t *why)
{
	return json_is_string(json_object_get(why, "snapshot"));
}

bool summary_is_snapshot(const char *dir)
{
	json_t *why = read_why(dir);
	bool is = is_snapshot(why);

	json_decref(why);
	return is;
}

static const char *reason_text(const json_t *why, const char *key)
{
	const char *text = json_string_value(json_object_get(why, key));

	return text ? text : "";
}

static json_t *make_notes(const json_t *why)
{
	const json_t *missing = json_object_get(why, "missing");
	json_t *notes = json_array();
	char text[NOTE_BYTES];

	snprintf(text, sizeof(text), "This is a snapshot of '%.200s': %.250s.",
		 reason_text(why, "of"), reason_text(why, "why"));
	json_array_append_new(notes, json_text(text));
	for (size_t i = 0; i < MIN(json_array_size(missing), NOTES_MAX); i++) {
		const char *line =
			json_string_value(json_array_get(missing, i));

		snprintf(text, sizeof(text), "%s", line ? line : "");
		if (text[0])
			json_array_append_new(notes, json_text(text));
	}
	return notes;
}

json_t *summary_snapshot_notes(const char *dir)
{
	json_t *why = read_why(dir);
	json_t *notes = is_snapshot(why) ? make_notes(why) : NULL;

	json_decref(why);
	return notes;
}
