/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_complete.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/names/name_pattern.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"

#define NAMES_MAX 5000 /* more are useless for a person */

static bool completes_recording(const char *dir)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/" SUMMARY_NAME, dir);

	return length < (int)sizeof(path) && access(path, R_OK) == 0;
}

int cmd_complete(int argc, char **argv)
{
	const char *dir = RECORDING_DIR;
	struct summary *summary;
	char pattern[NAME_PATTERN_BYTES];

	if (argc < 2 || strcmp(argv[1], "functions") != 0)
		return OPTS_WRONG;
	for (int i = 2; i < argc; i++)
		if (argv[i][0] && completes_recording(argv[i]))
			dir = argv[i];
	if (!completes_recording(dir) || summary_read(dir, &summary))
		return OPTS_FAILED;
	summary_sort(summary, SUMMARY_BY_CALLS);
	for (size_t i = 0; i < summary->function_count && i < NAMES_MAX; i++)
		if (name_pattern_make(summary->functions[i].name, pattern))
			puts(pattern);
	summary_free(&summary);
	return fflush(stdout) ? OPTS_FAILED : OPTS_OK;
}
