/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/doctor/doctor.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>

#include "collector/base/json_text.h"
#include "collector/base/text_out.h"
#include "collector/show/terminal.h"

static const struct {
	const char *word;
	enum terminal_style style;
} verdicts[] = {
	[DOCTOR_GOOD] = { "good", STYLE_LESS },
	[DOCTOR_LESS] = { "less", STYLE_TITLE },
	[DOCTOR_BAD] = { "bad", STYLE_LOSS },
};

struct doctor_finding *doctor_add(struct doctor_findings *findings,
				  const char *subject)
{
	struct doctor_finding *finding = &findings->list[findings->count];

	assert(findings->count < DOCTOR_MAX);
	findings->count++;
	*finding = (struct doctor_finding){ .subject = subject };
	return finding;
}

void doctor_say(char text[DOCTOR_TEXT], const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(text, DOCTOR_TEXT, format, list);
	va_end(list);
}

void doctor_judge(struct doctor_finding *finding, enum doctor_verdict verdict)
{
	if (verdict > finding->verdict)
		finding->verdict = verdict;
}

enum doctor_verdict doctor_worst(const struct doctor_findings *findings)
{
	enum doctor_verdict worst = DOCTOR_GOOD;

	for (size_t i = 0; i < findings->count; i++)
		if (findings->list[i].verdict > worst)
			worst = findings->list[i].verdict;
	return worst;
}

#define FOUND_INDENT 17 /* blanks before the fact */

static void print_line(const char *before, const char *text, FILE *out)
{
	if (!text[0])
		return;
	fputs(before, out);
	text_out(text, out);
	fputc('\n', out);
}

static void write_findings(const struct doctor_findings *findings,
			   const struct terminal *terminal, FILE *out)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct doctor_finding *finding = &findings->list[i];

		terminal_style(terminal, verdicts[finding->verdict].style, out);
		fprintf(out, "%-5s", verdicts[finding->verdict].word);
		terminal_style(terminal, STYLE_PLAIN, out);
		fprintf(out, " %-10s", finding->subject);
		print_line(" ", finding->found, out);
		print_line("                 ", finding->effect, out);
		print_line("                 -> ", finding->change, out);
	}
}

void doctor_print(const struct doctor_findings *findings, FILE *out)
{
	const struct terminal terminal = terminal_of(out);
	char *text = NULL;
	size_t size;
	FILE *lines = terminal.columns ? open_memstream(&text, &size) : NULL;

	write_findings(findings, &terminal, lines ? lines : out);
	if (lines && !fclose(lines))
		terminal_wrap(&terminal, text, FOUND_INDENT, out);
	free(text);
}

static int add_finding_text(json_t *object, const char *key, const char *text)
{
	if (!text[0])
		return 0;
	return json_object_set_new(object, key, json_text(text)) ? -ENOMEM : 0;
}

static json_t *finding_json(const struct doctor_finding *finding)
{
	json_t *object = json_object();

	if (object && !add_finding_text(object, "subject", finding->subject) &&
	    !add_finding_text(object, "verdict",
			      verdicts[finding->verdict].word) &&
	    !add_finding_text(object, "found", finding->found) &&
	    !add_finding_text(object, "effect", finding->effect) &&
	    !add_finding_text(object, "change", finding->change))
		return object;
	json_decref(object);
	return NULL;
}

int doctor_print_json(const struct doctor_findings *findings, FILE *out)
{
	const char *verdict = verdicts[doctor_worst(findings)].word;
	json_t *list = json_array();
	json_t *document = json_pack("{s:i, s:s, s:o}", "version", 1, "verdict",
				     verdict, "findings", list);
	int result = document ? 0 : -ENOMEM;

	for (size_t i = 0; i < findings->count && !result; i++)
		if (json_array_append_new(list,
					  finding_json(&findings->list[i])))
			result = -ENOMEM;
	if (!result && json_text_write(document, JSON_INDENT(1), out))
		result = -ENOMEM;
	fputc('\n', out);
	json_decref(document);
	return result;
}
