/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_code.h"

#include <errno.h>
#include <stdlib.h>

#include "collector/show/assembly.h"
#include "shared/compiler.h"

/* perfrec annotate --asm has all others. */
#define FUNCTIONS_MAX 20
#define INSTRUCTIONS_MAX 30000

_Static_assert(PAGE_KEYS <= ASSEMBLY_VALUES, "each key needs a value");

struct hot_function {
	uint32_t number;
	uint64_t self_ns;
};

static int compare_hot_functions(const void *left, const void *right)
{
	const struct hot_function *a = left, *b = right;

	if (a->self_ns != b->self_ns)
		return a->self_ns > b->self_ns ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Sets *@out to the functions of files with CPU time of their own, most first.
 * The caller frees it. */
static int find_hot_functions(struct page_data *data, struct hot_function **out,
			      size_t *count)
{
	struct hot_function *list =
		calloc(data->functions.count + 1, sizeof(*list));

	*out = list;
	*count = 0;
	if (!list)
		return -ENOMEM;
	for (uint32_t i = 1; i < data->functions.count; i++) {
		const struct page_function *function =
			page_data_function_at(data, i);
		const struct page_sums *sums =
			page_data_sums(data, PAGE_CPU, i);

		if (sums && sums->self[PAGE_SELF] &&
		    trace_texts_get(&data->texts, function->module)[0] == '/')
			list[(*count)++] =
				(struct hot_function){ i,
						       sums->self[PAGE_SELF] };
	}
	qsort(list, *count, sizeof(*list), compare_hot_functions);
	return 0;
}

/* Adds the samples of @pprof, which has the values of @file. */
static int add_page_code(struct assembly *assembly, const struct pprof *pprof,
			 const struct page_file *file)
{
	struct assembly_column columns[ARRAY_SIZE(file->types)];
	size_t count = 0;

	for (const struct page_type *type = file->types; type->type; type++)
		columns[count++] = (struct assembly_column){
			.type = pprof_find_type(pprof, type->type),
			.value = type->key,
			.self = true,
		};
	return assembly_add(assembly, pprof, columns, count);
}

static void put_parts(struct page_data *data, const struct assembly_part *parts,
		      size_t count, size_t left_out,
		      struct page_columns *columns)
{
	page_columns_begin(columns, "u", "code.left_out");
	page_columns_put(columns, left_out);
	PAGE_COLUMN(columns, i, count,
		    page_data_function(data,
				       page_data_text(data, parts[i].wish),
				       page_data_text(data, parts[i].module)),
		    "u", "code.function");
	PAGE_COLUMN(columns, i, count, page_data_text(data, parts[i].symbol),
		    "u", "code.symbol");
	PAGE_COLUMN(columns, i, count,
		    page_data_text(data, parts[i].why ? parts[i].why : ""), "u",
		    "code.why");
	PAGE_COLUMN(columns, i, count, parts[i].count, "u", "code.count");
}

/* Puts @value of each @line of all parts. */
#define PUT_LINES(value)                                                       \
	for (size_t i = 0; i < count; i++)                                     \
		for (size_t k = 0; k < parts[i].count; k++) {                  \
			const struct assembly_line *line = &parts[i].lines[k]; \
                                                                               \
			page_columns_put(columns, value);                      \
		}

static void put_instructions(struct page_data *data,
			     const struct assembly_part *parts, size_t count,
			     struct page_columns *columns)
{
	page_columns_begin(columns, "u", "instruction.bytes");
	PUT_LINES(line->bytes);
	page_columns_begin(columns, "u", "instruction.text");
	PUT_LINES(page_data_text(data, line->text));
	page_columns_begin(columns, "u", "instruction.file");
	PUT_LINES(page_data_text(data, line->file));
	page_columns_begin(columns, "d", "instruction.line");
	PUT_LINES(line->line);
	for (int key = PAGE_CPU; key < PAGE_KEYS; key++) {
		if (!data->value[key].known)
			continue;
		page_columns_begin(columns, "u", "instruction.%s",
				   page_keys[key].key);
		PUT_LINES((uint64_t)MAX(line->value[key], 0));
	}
}

static int put_code(struct page_data *data, struct assembly *assembly,
		    size_t left_out, struct page_columns *columns)
{
	struct assembly_part *parts;
	size_t count, kept = 0, instructions = 0;
	int err = assembly_read(assembly, &parts, &count);

	for (size_t i = 0; i < count && !err; i++) {
		struct assembly_part part = parts[i];

		if (!part.sum[PAGE_CPU])
			continue;
		if (instructions + part.count > INSTRUCTIONS_MAX) {
			left_out++;
			continue;
		}
		instructions += part.count;
		parts[i] = parts[kept];
		parts[kept++] = part;
	}
	if (err)
		return err;
	put_parts(data, parts, kept, left_out, columns);
	put_instructions(data, parts, kept, columns);
	return 0;
}

int page_code_put(struct page_data *data, const char *dir,
		  struct page_columns *columns)
{
	struct pprof *pprof[PAGE_FILES] = { NULL };
	struct assembly *assembly = NULL;
	struct hot_function *hot = NULL;
	size_t count = 0, wished;
	int err = find_hot_functions(data, &hot, &count);

	if (!err && count)
		err = assembly_new(&assembly);
	wished = MIN(count, (size_t)FUNCTIONS_MAX);
	for (size_t i = 0; i < wished && !err; i++)
		err = assembly_wish(assembly,
				    trace_texts_get(&data->texts,
						    page_data_function_at(
							    data, hot[i].number)
							    ->name));
	for (size_t i = 0; i < PAGE_FILES && assembly && !err; i++) {
		if (!page_files[i].lines)
			continue;
		err = pprof_read(dir, page_files[i].name, &pprof[i]);
		if (!err)
			err = add_page_code(assembly, pprof[i], &page_files[i]);
		else if (err == -ENOENT)
			err = 0;
	}
	if (!err && assembly)
		err = put_code(data, assembly, count - wished, columns);
	assembly_free(&assembly);
	for (size_t i = 0; i < PAGE_FILES; i++)
		pprof_free(&pprof[i]);
	free(hot);
	return err;
}
