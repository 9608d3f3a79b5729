/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/compare/runs_match.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/path.h"
#include "shared/compiler.h"

#define NAME_BYTES 1024 /* a longer name is cut */
#define KEY_BYTES (2 * NAME_BYTES)

/* --- names --------------------------------------------------------------- */

/* Suffixes that compilers append to names of copies of a function. */
static const char *const clone_suffixes[] = {
	".isra.", ".constprop.", ".part.",  ".cold",	 ".lto_priv.",
	".llvm.", ".localalias", ".clone.", ".resolver",
};

/* Returns the length of @name without suffixes of copies. Demanglers write
 * "f(int) [clone .isra.0]". */
static size_t plain_length(const char *name)
{
	size_t length = strlen(name);
	const char *at = strstr(name, " [clone ");

	if (at)
		length = MIN(length, (size_t)(at - name));
	for (size_t i = 0; i < ARRAY_SIZE(clone_suffixes); i++) {
		at = strstr(name, clone_suffixes[i]);
		if (at && at != name)
			length = MIN(length, (size_t)(at - name));
	}
	return length;
}

/* Returns the end of the "[abi:...]" at @at; @at if there is none. */
static size_t skip_abi_tag(const char *name, size_t at, size_t end)
{
	size_t to = at + strcspn(name + at, "]");

	if (strncmp(name + at, "[abi:", 5) != 0 || to >= end)
		return at;
	return to + 1;
}

/* Returns true if the '<' or '>' at @at belongs to the name of an operator. */
static bool is_folded_operator(const char *name, size_t at)
{
	while (at > 0 && strchr("<>=-", name[at - 1]))
		at--;
	return at >= 8 && strncmp(name + at - 8, "operator", 8) == 0;
}

struct fold {
	size_t angles, brackets; /* open ones */
};

/* Returns true if the character at @at belongs to the name without
 * arguments. */
static bool keep_folded(struct fold *fold, const char *name, size_t at)
{
	char c = name[at];
	bool plain = !is_folded_operator(name, at);

	if (c == '>' && plain && fold->angles)
		fold->angles--;
	else if (c == ')' && fold->brackets)
		fold->brackets--;
	else if (!fold->angles && !fold->brackets && !(c == '<' && plain) &&
		 c != '(')
		return true;
	if (c == '<' && plain)
		fold->angles++;
	else if (c == '(')
		fold->brackets++;
	return false;
}

void runs_match_name(const char *name, bool folded, char *out, size_t room)
{
	size_t end = plain_length(name), length = 0;
	struct fold fold = { 0 };

	for (size_t at = 0; at < end && length + 1 < room; at++) {
		size_t next = skip_abi_tag(name, at, end);

		if (next != at)
			at = next - 1;
		else if (!folded || keep_folded(&fold, name, at))
			out[length++] = name[at];
	}
	out[length] = '\0';
}

void runs_match_module(const char *path, char *out, size_t room)
{
	const char *base = path_name(path), *so = strstr(base, ".so");
	size_t length = so ? (size_t)(so - base) : strlen(base);

	snprintf(out, room, "%.*s", (int)MIN(length, room), base);
}

/* --- matching ------------------------------------------------------------ */

struct candidate {
	uint32_t function;
	bool on_b;
	char *key;
};

struct matching {
	struct pool *functions;
	char program[2][NAME_BYTES]; /* each side's main module */
	struct candidate *list;
	size_t count;
};

/* Sets @out to the module in a key. The main module has the same key on both
 * sides, even if the program has another name. */
static void module_key(const struct matching *matching,
		       const struct runs_function *function, char *out,
		       size_t room)
{
	runs_match_module(function->module, out, room);
	if (strcmp(out, matching->program[function->on_b]) == 0)
		snprintf(out, room, "*");
}

enum step { BY_NAME, BY_NAME_ELSEWHERE, BY_FOLDED_NAME, BY_LINE, STEPS };

static void make_match_key(const struct matching *matching, enum step step,
			   const struct runs_function *function, char *out)
{
	char name[NAME_BYTES], module[NAME_BYTES];
	const char *file = path_name(function->file);

	out[0] = '\0';
	module_key(matching, function, module, sizeof(module));
	runs_match_name(function->name, step == BY_FOLDED_NAME, name,
			sizeof(name));
	switch (step) {
	case BY_NAME:
		snprintf(out, KEY_BYTES, "%s\n%s", name, module);
		break;
	case BY_NAME_ELSEWHERE:
		snprintf(out, KEY_BYTES, "%s", name);
		break;
	case BY_FOLDED_NAME:
		snprintf(out, KEY_BYTES, "%s\n%s", name,
			 file[0] ? file : module);
		break;
	default:
		if (file[0] && function->line)
			snprintf(out, KEY_BYTES, "%s\n%u", file,
				 function->line);
	}
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : (int)a->on_b - (int)b->on_b;
}

static int collect(struct matching *matching, enum step step)
{
	struct runs_function *functions = matching->functions->items;
	char key[KEY_BYTES];

	matching->count = 0;
	for (uint32_t i = 0; i < matching->functions->count; i++) {
		struct candidate *to = &matching->list[matching->count];

		/* Unmatched functions that only one side has. */
		if (functions[i].on_a == functions[i].on_b ||
		    functions[i].other != RUNS_NONE ||
		    functions[i].same_as != i)
			continue;
		make_match_key(matching, step, &functions[i], key);
		if (!key[0])
			continue;
		*to = (struct candidate){ i, functions[i].on_b, strdup(key) };
		if (!to->key)
			return -ENOMEM;
		matching->count++;
	}
	qsort(matching->list, matching->count, sizeof(*matching->list),
	      compare_candidates);
	return 0;
}

/* A main module with another name does not mean that its functions moved. */
static enum runs_match match_of(const struct matching *matching,
				const struct runs_function *a,
				const struct runs_function *b)
{
	char key_a[NAME_BYTES], key_b[NAME_BYTES];

	if (strcmp(a->name, b->name) != 0)
		return RUNS_RENAMED;
	module_key(matching, a, key_a, sizeof(key_a));
	module_key(matching, b, key_b, sizeof(key_b));
	return strcmp(key_a, key_b) == 0 ? RUNS_SAME : RUNS_MOVED;
}

static void join_matching(const struct matching *matching, uint32_t a,
			  uint32_t b)
{
	struct runs_function *functions = matching->functions->items;
	struct runs_function *old = &functions[a], *new = &functions[b];

	old->match = new->match = match_of(matching, old, new);
	old->other = b;
	new->same_as = a;
}

/* Joins functions whose key belongs to exactly one function of each side. */
static void join_pairs(struct matching *matching)
{
	const struct candidate *list = matching->list;
	size_t end;

	for (size_t i = 0; i < matching->count; i = end) {
		for (end = i + 1; end < matching->count; end++)
			if (strcmp(list[i].key, list[end].key) != 0)
				break;
		if (end - i == 2 && !list[i].on_b && list[i + 1].on_b)
			join_matching(matching, list[i].function,
				      list[i + 1].function);
	}
}

int runs_match_sides(struct pool *functions, const char *const programs[2])
{
	struct matching *matching = calloc(1, sizeof(*matching));
	int err = 0;

	if (!matching)
		return -ENOMEM;
	matching->functions = functions;
	matching->list = calloc(functions->count + 1, sizeof(*matching->list));
	if (!matching->list)
		err = -ENOMEM;
	for (int i = 0; i < 2; i++)
		runs_match_module(programs[i], matching->program[i],
				  sizeof(matching->program[i]));
	for (int step = 0; step < STEPS && !err; step++) {
		err = collect(matching, (enum step)step);
		if (!err)
			join_pairs(matching);
		for (size_t i = 0; i < matching->count; i++)
			free(matching->list[i].key);
	}
	free(matching->list);
	free(matching);
	return err;
}
