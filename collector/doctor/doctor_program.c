/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/doctor/doctor_program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/base/json_text.h"
#include "collector/base/log.h"
#include "collector/base/search.h"
#include "collector/base/size.h"
#include "collector/base/text_out.h"
#include "collector/code/code_plan.h"
#include "collector/names/elf_functions.h"
#include "collector/names/elf_read.h"
#include "collector/names/symbol_name.h"
#include "shared/compiler.h"

#define STEP_BYTES (1u << 20)
#define EXAMPLES 3

struct verdict {
	enum code_refusal refused;
	uint64_t functions;
	uint64_t example[EXAMPLES]; /* addresses of the first named ones */
	size_t examples;
};

struct findings {
	const char *path;
	struct code_plan *plan;
	struct elf_functions names;
	struct verdict verdict[CODE_REFUSALS]; /* the most functions first */
};

static const char *name_at(const struct findings *findings, uint64_t address)
{
	const struct elf_functions *names = &findings->names;
	size_t at =
		search_first(i, names->count, names->list[i].start >= address);

	return at < names->count && names->list[at].start == address
		       ? names->strings + names->list[at].name
		       : NULL;
}

/* Returns @out: the name without the file of a static function, or the address
 * of a function without a name. */
static const char *readable_name(const struct findings *findings,
				 uint64_t address, char out[SYMBOL_NAME_BYTES])
{
	const char *name = name_at(findings, address);

	if (!name) {
		snprintf(out, SYMBOL_NAME_BYTES, "0x%" PRIx64, address);
		return out;
	}
	symbol_name_make(name, out);
	out[strcspn(out, (const char[]){ ELF_FILE_MARK, '\0' })] = '\0';
	return out;
}

static int compare_verdicts(const void *left, const void *right)
{
	const struct verdict *a = left, *b = right;

	return (a->functions < b->functions) - (a->functions > b->functions);
}

static void count_verdicts(struct findings *findings)
{
	const struct code_plan *plan = findings->plan;

	for (int i = 0; i < CODE_REFUSALS; i++)
		findings->verdict[i].refused = (enum code_refusal)i;
	for (size_t i = 0; i < plan->function_count; i++) {
		const struct code_function *function = &plan->functions[i];
		struct verdict *verdict = &findings->verdict[function->refused];

		verdict->functions++;
		if (function->refused && verdict->examples < EXAMPLES &&
		    (function->refused == CODE_ONLY_JUMPED_TO ||
		     name_at(findings, function->address)))
			verdict->example[verdict->examples++] =
				function->address;
	}
	qsort(findings->verdict + 1, CODE_REFUSALS - 1,
	      sizeof(findings->verdict[0]), compare_verdicts);
}

/* --- printing ------------------------------------------------------------- */

static void print_examples(const struct findings *findings,
			   const struct verdict *verdict, FILE *out)
{
	for (size_t i = 0; i < verdict->examples; i++) {
		char name[SYMBOL_NAME_BYTES];

		fputs(i ? ", " : " (", out);
		text_out(readable_name(findings, verdict->example[i], name),
			 out);
	}
	if (verdict->examples)
		fputs(verdict->functions > verdict->examples ? ", ...)" : ")",
		      out);
}

static void print_program(const struct findings *findings, FILE *out)
{
	const uint64_t all = findings->plan->function_count;
	char count[SIZE_TEXT], bytes[SIZE_TEXT];

	text_out(findings->path, out);
	fprintf(out, ": %s function%s in %s of code\n",
		size_format_count(all, count), size_plural(all),
		size_format_bytes(findings->plan->text_bytes, bytes));
	if (!findings->plan->is_moved) {
		fputs("\n  It was built with hooks (perfrec cc): perfrec "
		      "record needs no --patch.\n",
		      out);
		return;
	}
	if (!all)
		fputs("\n  No function has a frame description (.eh_frame), so "
		      "none can be patched.\n",
		      out);
	for (size_t i = 0; all && i < CODE_REFUSALS; i++) {
		const struct verdict *verdict = &findings->verdict[i];

		if (i && !verdict->functions)
			continue;
		fprintf(out, "%s%11s  %5.1f %%  %s%s", i == 1 ? "\n" : "",
			size_format_count(verdict->functions, count),
			100 * (double)verdict->functions / (double)all,
			i ? "cannot, for "
			  : "can be recorded as they are: perfrec record "
			    "--patch",
			i ? code_refusal_text(verdict->refused) : "");
		print_examples(findings, verdict, out);
		fputc('\n', out);
	}
}

static json_t *verdict_json(const struct findings *findings,
			    const struct verdict *verdict)
{
	json_t *object = json_object(), *examples = json_array();

	for (size_t i = 0; i < verdict->examples; i++) {
		char name[SYMBOL_NAME_BYTES];

		json_array_append_new(
			examples,
			json_text(readable_name(findings, verdict->example[i],
						name)));
	}
	json_object_set_new(object, "why",
			    json_text(code_refusal_text(verdict->refused)));
	json_object_set_new(object, "functions",
			    json_number(verdict->functions));
	json_object_set_new(object, "examples", examples);
	return object;
}

static int print_program_json(const struct findings *findings, FILE *out)
{
	const struct code_plan *plan = findings->plan;
	json_t *root = json_object(), *refused = json_array();

	json_text_watch();
	json_object_set_new(root, "version", json_number(1));
	json_object_set_new(root, "file", json_text(findings->path));
	json_object_set_new(root, "text_bytes", json_number(plan->text_bytes));
	json_object_set_new(root, "hooks", json_boolean(!plan->is_moved));
	json_object_set_new(root, "functions",
			    json_number(plan->function_count));
	json_object_set_new(root, "patchable", json_number(plan->moves.count));
	for (size_t i = 1; i < CODE_REFUSALS; i++)
		if (findings->verdict[i].functions && plan->is_moved)
			json_array_append_new(
				refused,
				verdict_json(findings, &findings->verdict[i]));
	json_object_set_new(root, "refused", refused);
	if (!json_text_lacked())
		return json_text_print(root, out);
	json_decref(root);
	log_err("out of memory");
	return -ENOMEM;
}

/* --- reading -------------------------------------------------------------- */

static int plan_program(struct findings *findings, int fd, const char **why)
{
	const struct code_input input = { .fd = fd, .moves = true };
	const char *ignored;
	int err = code_plan_begin(&input, NULL, &findings->plan, why);

	while (!err && (err = code_plan_step(findings->plan, STEP_BYTES)) > 0)
		err = 0;
	if (!err)
		(void)elf_read_functions(fd, -1, &findings->names, &ignored);
	return err;
}

int doctor_look_at_program(const char *path, bool json, FILE *out)
{
	struct findings findings = { .path = path };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	const char *why = "not enough memory";
	int err = fd < 0 ? -errno : plan_program(&findings, fd, &why);

	if (err || !findings.plan) {
		log_err("'%s': %s", path, fd < 0 ? strerror(-err) : why);
	} else {
		count_verdicts(&findings);
		if (json)
			err = print_program_json(&findings, out);
		else
			print_program(&findings, out);
	}
	code_plan_free(&findings.plan);
	free(findings.names.list);
	free(findings.names.strings);
	if (fd >= 0)
		close(fd);
	return err;
}
