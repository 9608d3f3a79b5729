/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/command/cmd_annotate.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "collector/base/log.h"
#include "collector/command/function_choice.h"
#include "collector/options/limits.h"
#include "collector/options/opts.h"
#include "collector/output/own_files.h"
#include "collector/read/pprof_read.h"
#include "collector/read/summary_read.h"
#include "collector/show/annotate.h"
#include "collector/show/assembly.h"
#include "shared/compiler.h"

static const char *const profiles[] = { CPU_PROFILE_NAME, HEAP_PROFILE_NAME };

struct annotate_command {
	const char *word, *dir;
	bool json, as_code;
	struct summary *summary;
	time_t written; /* time of the newest profile; 0: unknown */
	struct pprof *pprof[ARRAY_SIZE(profiles)]; /* may be NULL */
	struct pprof_rows stacks[ARRAY_SIZE(profiles)];
	struct pprof_rows functions[ARRAY_SIZE(profiles)];
};

static int take_annotate_option(void *to, const struct opts_value *value)
{
	struct annotate_command *command = to;

	switch (value->id) {
	case OPT_JSON:
		command->json = true;
		break;
	case OPT_ASM:
		command->as_code = true;
		break;
	default:
		assert(!"an option of perfrec annotate that nobody takes");
	}
	return OPTS_GO_ON;
}

static int read_profiles(struct annotate_command *command)
{
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		int err = pprof_read(command->dir, profiles[i],
				     &command->pprof[i]);
		struct stat status;
		char *path;

		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		found++;
		path = NULL;
		if (asprintf(&path, "%s/%s", command->dir, profiles[i]) >= 0) {
			if (!stat(path, &status))
				command->written =
					MAX(command->written, status.st_mtime);
			free(path);
		}
		if (pprof_rows_by_stack(command->pprof[i],
					&command->stacks[i]) ||
		    pprof_rows_by_function(command->pprof[i],
					   &command->functions[i])) {
			log_err("out of memory");
			return -ENOMEM;
		}
	}
	if (found)
		return 0;
	log_err("'%s' has no samples and no allocations (see perfrec record "
		"--cpu, --alloc)",
		command->dir);
	return -ENOENT;
}

static int show_annotated_lines(const struct annotate_command *command,
				struct annotate *annotate)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(profiles) && !err; i++)
		if (command->pprof[i])
			err = annotate_add(annotate, command->pprof[i],
					   &command->stacks[i]);
	annotate_end(annotate);
	if (err)
		return err;
	return command->json ? annotate_write_json(annotate, stdout)
			     : annotate_print(annotate, stdout);
}

/* Sums up the parts. Returns 0, or -ENOEXEC after a message if none has code. */
static int take_code_parts(struct annotate *annotate,
			   const struct assembly_part *parts, size_t count)
{
	bool has_code = false;

	for (size_t i = 0; i < count; i++) {
		has_code |= parts[i].lines != NULL;
		for (size_t k = 0; k < ANNOTATE_VALUES; k++)
			add_saturated_to(&annotate->sum[k], parts[i].sum[k]);
	}
	if (count)
		annotate->module = parts[0].module;
	if (has_code)
		return 0;
	log_err("no machine code of '%s': %s", annotate->name,
		count ? parts[0].why : "it has no samples in a file");
	return -ENOEXEC;
}

static int show_annotated_code(const struct annotate_command *command,
			       struct annotate *annotate)
{
	struct assembly *assembly = NULL;
	struct assembly_part *parts;
	size_t count;
	int err = assembly_new(&assembly);

	if (!err)
		err = assembly_wish(assembly, annotate->name);
	for (size_t i = 0; i < ARRAY_SIZE(profiles) && !err; i++) {
		struct assembly_column columns[ANNOTATE_VALUES];

		if (!command->pprof[i])
			continue;
		for (uint32_t k = 0; k < ANNOTATE_VALUES; k++) {
			columns[k] = (struct assembly_column){
				pprof_find_type(command->pprof[i],
						annotate_values[k].type),
				k, annotate_values[k].self
			};
			annotate->known[k] |= columns[k].type != PPROF_NONE;
		}
		err = assembly_add(assembly, command->pprof[i], columns,
				   ANNOTATE_VALUES);
	}
	if (!err)
		err = assembly_read(assembly, &parts, &count);
	if (!err)
		err = take_code_parts(annotate, parts, count);
	if (!err)
		err = command->json ? annotate_write_assembly_json(
					      annotate, parts, count, stdout)
				    : annotate_print_assembly(annotate, parts,
							      count, stdout);
	assembly_free(&assembly);
	return err;
}

static int show_annotate(const struct annotate_command *command)
{
	struct annotate annotate;
	int err;
	struct pprof_rows all = { 0 };
	const char *name = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++)
		all.count += command->functions[i].count;
	all.list = calloc(all.count + 1, sizeof(*all.list));
	all.count = 0;
	for (size_t i = 0; all.list && i < ARRAY_SIZE(profiles); i++)
		for (size_t k = 0; k < command->functions[i].count; k++)
			all.list[all.count++] = command->functions[i].list[k];
	if (all.list)
		name = function_choose(command->word, &all, command->summary,
				       FUNCTION_LINES, command->dir);
	else
		log_err("out of memory");
	free(all.list);
	if (!name)
		return OPTS_FAILED;
	annotate_begin(name, &annotate);
	annotate.recorded = command->summary->instrumented;
	annotate.written = command->written;
	err = command->as_code ? show_annotated_code(command, &annotate)
			       : show_annotated_lines(command, &annotate);
	annotate_release(&annotate);
	if (!err)
		return OPTS_OK;
	if (err != -ENOEXEC)
		log_err("cannot write the lines: %s", strerror(-err));
	return OPTS_FAILED;
}

int cmd_annotate(int argc, char **argv)
{
	struct annotate_command command = { .dir = RECORDING_DIR };
	int result = opts_parse(CMD_ANNOTATE, argc, argv, take_annotate_option,
				&command);

	if (result == OPTS_GO_ON)
		result =
			function_choice_operands("perfrec annotate", argc, argv,
						 &command.word, &command.dir);
	if (result != OPTS_GO_ON)
		return result;
	/* It reports a folder that is no recording. */
	if (summary_read(command.dir, &command.summary))
		return OPTS_FAILED;
	result =
		read_profiles(&command) ? OPTS_FAILED : show_annotate(&command);
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		pprof_rows_free(&command.stacks[i]);
		pprof_rows_free(&command.functions[i]);
		pprof_free(&command.pprof[i]);
	}
	summary_free(&command.summary);
	return result;
}
