/* SPDX-License-Identifier: Apache-2.0
 *
 * collector/doctor examines the machine. This file adds perfrec's own parts and
 * a trial recording.
 */
#include "collector/command/cmd_doctor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/base/log.h"
#include "collector/base/socket_path.h"
#include "collector/base/text_out.h"
#include "collector/command/spawn.h"
#include "collector/doctor/doctor.h"
#include "collector/doctor/doctor_program.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "shared/compiler.h"

#define SELF "/proc/self/exe"
#define NAME "perfrec doctor"

struct doctor_options {
	const char *dir; /* a folder or file; NULL: no argument */
	bool json;
};

static int take_doctor_option(void *to, const struct opts_value *value)
{
	struct doctor_options *options = to;

	switch (value->id) {
	case OPT_JSON:
		options->json = true;
		break;
	default:
		assert(!"an option of perfrec doctor that nobody takes");
	}
	return OPTS_GO_ON;
}

static bool look_at_parts(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "parts");
	struct spawn_parts parts;

	if (!spawn_find_parts(&parts)) {
		doctor_say(finding->found, "%.200s", parts.shim);
		return true;
	}
	/* The log line names the part. */
	doctor_judge(finding, DOCTOR_BAD);
	doctor_say(finding->found, "a part of perfrec is missing");
	doctor_say(finding->change, "install perfrec again");
	return false;
}

static void look_at_compilers(struct doctor_findings *findings)
{
	static const char *const names[] = { "gcc", "g++", "clang", "clang++" };
	struct doctor_finding *finding = doctor_add(findings, "compilers");
	char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t length = strlen(finding->found);

		if (spawn_find_command(names[i], path) < 0)
			continue;
		snprintf(finding->found + length, DOCTOR_TEXT - length, "%s%s",
			 length ? ", " : "", names[i]);
	}
	if (finding->found[0])
		return;
	doctor_judge(finding, DOCTOR_LESS);
	doctor_say(finding->found, "none");
	doctor_say(finding->effect,
		   "programs cannot be rebuilt here: they have CPU samples and "
		   "allocations, but no calls");
	doctor_say(finding->change, "install gcc or clang");
}

/* --- the trial ----------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *status, int type,
		      struct FTW *ftw)
{
	(void)status;
	(void)type;
	(void)ftw;
	return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int run_quietly(char *const *argv, int printed)
{
	posix_spawn_file_actions_t actions;
	int status = 0, err;
	pid_t pid;

	err = posix_spawn_file_actions_init(&actions);
	if (err)
		return -err;
	err = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
					       "/dev/null", O_RDONLY, 0);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, printed,
						       STDOUT_FILENO);
	if (!err)
		err = posix_spawn_file_actions_adddup2(&actions, printed,
						       STDERR_FILENO);
	if (!err)
		err = posix_spawn(&pid, SELF, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err)
		return -err;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

static void judge_trial(struct doctor_finding *finding, const char *data,
			int printed, int status)
{
	struct summary *summary = NULL;

	if (status == 0 && !summary_read(data, &summary) &&
	    summary->totals.processes > 0) {
		doctor_say(finding->found, "a program was recorded, and its "
					   "recording read");
	} else {
		doctor_judge(finding, DOCTOR_BAD);
		doctor_say(finding->found, "a program could not be recorded");
		if (status < 0)
			doctor_say(finding->effect, "%s", strerror(-status));
		else {
			ssize_t length = pread(printed, finding->effect,
					       DOCTOR_TEXT - 1, 0);

			finding->effect[length > 0 ? length : 0] = '\0';
			finding->effect[strcspn(finding->effect, "\n")] = '\0';
		}
	}
	summary_free(&summary);
}

static void try_recording(struct doctor_findings *findings)
{
	struct doctor_finding *finding = doctor_add(findings, "trial");
	const char *base = getenv("TMPDIR");
	char folder[PATH_MAX - 32], data[PATH_MAX];
	char *const argv[] = { "perfrec", "record", "--quiet",	 "-o", data,
			       "--",	  SELF,	    "--version", NULL };
	int printed;

	snprintf(folder, sizeof(folder), "%s/perfrec-doctor-XXXXXX",
		 base && base[0] ? base : "/tmp");
	if (!mkdtemp(folder)) {
		doctor_judge(finding, DOCTOR_LESS);
		doctor_say(finding->found, "not made: '%.150s': %s", folder,
			   strerror(errno));
		doctor_say(finding->change,
			   "set TMPDIR to a folder that can be written");
		return;
	}
	snprintf(data, sizeof(data), "%s/data", folder);
	printed = memfd_create("perfrec-trial", MFD_CLOEXEC);
	judge_trial(finding, data, printed, run_quietly(argv, printed));
	if (printed >= 0)
		close(printed);
	if (nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) < 0)
		log_warn("cannot remove '%s': %s", folder, strerror(errno));
}

/* --- a program ----------------------------------------------------------- */

static bool is_regular_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* --- the answer ---------------------------------------------------------- */

static const char *const conclusions[] = {
	[DOCTOR_GOOD] = "All that perfrec can do works here.",
	[DOCTOR_LESS] =
		"perfrec works here; the lines marked \"less\" say what "
		"could be better.",
	[DOCTOR_BAD] =
		"perfrec cannot record here; the lines marked \"bad\" say "
		"why.",
};

static const char *const sums_conclusions[] = {
	[DOCTOR_GOOD] = "The times of this recording do not contradict each "
			"other.",
	[DOCTOR_BAD] = "The times of this recording contradict each other in "
		       "the lines marked \"bad\".",
};

static int print_findings(const struct doctor_findings *findings, bool json,
			  const char *const conclusion[])
{
	if (json)
		return doctor_print_json(findings, stdout);
	doctor_print(findings, stdout);
	printf("\n%s\n", conclusion[doctor_worst(findings)]);
	return 0;
}

int cmd_doctor(int argc, char **argv)
{
	const char *const *conclusion = conclusions;
	struct doctor_options options = { 0 };
	struct doctor_findings findings = { 0 };
	int result = opts_parse(CMD_DOCTOR, argc, argv, take_doctor_option,
				&options);

	if (result != OPTS_GO_ON)
		return result;
	if (argc - optind > 1) {
		log_err("'%s': one folder or file at a time; see " NAME
			" --help",
			argv[optind + 1]);
		return OPTS_WRONG;
	}
	if (optind < argc && !argv[optind][0]) {
		log_err("'': give the name of a folder or file");
		return OPTS_WRONG;
	}
	if (optind < argc)
		options.dir = argv[optind];
	if (options.dir && is_regular_file(options.dir)) {
		int err = doctor_look_at_program(options.dir, options.json,
						 stdout);

		if (text_out_finish() || err)
			return OPTS_FAILED;
		return OPTS_OK;
	}
	if (options.dir && own_files_exists(options.dir, SUMMARY_NAME)) {
		conclusion = sums_conclusions;
		if (doctor_look_at_recording(options.dir, &findings))
			return OPTS_FAILED;
	} else {
		char path[SOCKET_PATH_BYTES];
		struct doctor_finding *finding;

		doctor_look_at_kernel(&findings);
		doctor_look_at_room(options.dir ? options.dir : RECORDING_DIR,
				    &findings);
		look_at_compilers(&findings);
		finding = doctor_add(&findings, "daemon");
		if (socket_path_usual(false, path) || access(path, F_OK) < 0)
			doctor_say(finding->found,
				   "none runs; perfrec record needs none");
		else
			doctor_say(finding->found, "its socket is '%.150s'",
				   path);
		if (look_at_parts(&findings))
			try_recording(&findings);
	}
	if (print_findings(&findings, options.json, conclusion) ||
	    fflush(stdout)) {
		log_err("cannot print: %s", strerror(errno ? errno : ENOMEM));
		return OPTS_FAILED;
	}
	return doctor_worst(&findings) == DOCTOR_BAD ? OPTS_FAILED : OPTS_OK;
}
