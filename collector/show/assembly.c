/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/assembly.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/base/grow.h"
#include "collector/base/pool.h"
#include "collector/base/search.h"
#include "collector/names/elf_assembly.h"
#include "collector/names/name_fold.h"
#include "collector/names/source.h"
#include "collector/names/symbols.h"
#include "collector/read/pprof_read.h"
#include "collector/show/pprof_rows.h"
#include "shared/compiler.h"
#include "shared/hash.h"

/* The start of what the name of a cold part has behind that of its function. */
#define COLD ".cold"
#define COLD_CLONE " [clone .cold"

/* A file of a profile. */
struct code_module {
	const char *path, *build_id; /* the key */
	uint64_t recorded_ns; /* since the epoch: begin of the recording */
	struct symbol_file *file; /* NULL: see why */
	char *why;
};

/* An instruction with samples. */
struct code_place {
	uint32_t wish, module; /* the key, with offset */
	uint64_t offset; /* in the file */
	int64_t value[ASSEMBLY_VALUES];
};

struct assembly {
	struct symbol_cache *cache;
	const char **wishes;
	size_t wish_count, wish_room;
	struct pool modules; /* of struct code_module */
	struct pool places; /* of struct code_place */
	struct assembly_part *parts;
	size_t part_count, part_room;
};

static uint64_t hash_module(const void *item)
{
	const struct code_module *module = item;

	return hash_fold(hash_text(hash_text(HASH_MULTIPLIER, module->path),
				   module->build_id));
}

static bool is_same_module(const void *left, const void *right)
{
	const struct code_module *a = left, *b = right;

	return !strcmp(a->path, b->path) && !strcmp(a->build_id, b->build_id);
}

static const struct pool_key module_key = { hash_module, is_same_module };

int assembly_new(struct assembly **out)
{
	struct assembly *assembly = calloc(1, sizeof(*assembly));

	if (!assembly || symbol_cache_new(&assembly->cache)) {
		free(assembly);
		return -ENOMEM;
	}
	pool_init_key(&assembly->modules, NULL, sizeof(struct code_module),
		      &module_key);
	pool_init(&assembly->places, NULL, sizeof(struct code_place),
		  offsetof(struct code_place, value));
	*out = assembly;
	return 0;
}

void assembly_free(struct assembly **assembly_ptr)
{
	struct assembly *assembly = *assembly_ptr;
	struct code_module *module;

	*assembly_ptr = NULL;
	if (!assembly)
		return;
	for (size_t i = 0; i < assembly->part_count; i++) {
		for (size_t k = 0; k < assembly->parts[i].count; k++)
			free(assembly->parts[i].lines[k].text);
		free(assembly->parts[i].lines);
		free(assembly->parts[i].why);
	}
	module = assembly->modules.items;
	for (size_t i = 0; i < assembly->modules.count; i++, module++) {
		symbol_file_put(&module->file);
		free(module->why);
	}
	free(assembly->parts);
	free(assembly->wishes);
	pool_release(&assembly->modules);
	pool_release(&assembly->places);
	symbol_cache_put(&assembly->cache);
	free(assembly);
}

int assembly_wish(struct assembly *assembly, const char *name)
{
	if (grow_array(assembly->wishes, assembly->wish_room,
		       assembly->wish_count + 1))
		return -ENOMEM;
	assembly->wishes[assembly->wish_count++] = name;
	return 0;
}

/* --- samples -------------------------------------------------------------- */

struct addition {
	struct assembly *assembly;
	const struct pprof *pprof;
	const struct assembly_column *columns;
	size_t column_count;
	uint32_t *wish; /* by function of the profile: number + 1 */
	size_t *seen; /* by wish: the last sample that counted */
};

static int find_code_place(struct addition *add, uint32_t wish,
			   const struct pprof_location *location,
			   struct code_place **out)
{
	struct assembly *assembly = add->assembly;
	struct code_place place = { .wish = wish };
	struct code_module module = { .path = location->module,
				      .build_id = "",
				      .recorded_ns = add->pprof->time_ns };
	uint32_t number;
	int err;

	if (location->mapping != PPROF_NONE) {
		const struct pprof_mapping *mapping =
			&add->pprof->mappings[location->mapping];

		module.build_id = mapping->build_id;
		place.offset =
			location->address - mapping->start + mapping->offset;
	}
	err = pool_intern(&assembly->modules, &module, &place.module);
	if (err >= 0)
		err = pool_intern(&assembly->places, &place, &number);
	if (err < 0)
		return err;
	*out = (struct code_place *)assembly->places.items + number;
	return 0;
}

/* Adds sample @number to the place of frame @depth, for each wish that has no
 * inner frame. */
static int add_code_frame(struct addition *add, size_t number, size_t depth)
{
	const struct pprof_sample *sample = &add->pprof->samples[number];
	const struct pprof_location *location =
		&add->pprof->locations[sample->stack[depth]];

	for (size_t i = 0; i < location->line_count; i++) {
		uint32_t wish = add->wish[location->lines[i].function];
		struct code_place *place;
		int err;

		if (!wish || add->seen[wish - 1] == number + 1)
			continue;
		add->seen[wish - 1] = number + 1;
		err = find_code_place(add, wish - 1, location, &place);
		if (err)
			return err;
		for (size_t k = 0; k < add->column_count; k++) {
			const struct assembly_column *column = &add->columns[k];

			if (column->type != PPROF_NONE &&
			    !(column->self && depth))
				add_saturated_to(&place->value[column->value],
						 sample->value[column->type]);
		}
	}
	return 0;
}

bool assembly_is_cold_part(const char *name, const char *function)
{
	size_t bytes = strlen(function);

	return !strncmp(name, function, bytes) &&
	       (!strncmp(name + bytes, COLD, strlen(COLD)) ||
		!strncmp(name + bytes, COLD_CLONE, strlen(COLD_CLONE)));
}

/* Returns the number of the wish for @name + 1, or 0. */
static uint32_t find_code_wish(const struct assembly *assembly,
			       const char *name)
{
	for (size_t i = 0; i < assembly->wish_count; i++)
		if (!strcmp(name, assembly->wishes[i]))
			return (uint32_t)i + 1;
	for (size_t i = 0; i < assembly->wish_count; i++)
		if (assembly_is_cold_part(name, assembly->wishes[i]))
			return (uint32_t)i + 1;
	return 0;
}

int assembly_add(struct assembly *assembly, const struct pprof *pprof,
		 const struct assembly_column *columns, size_t count)
{
	struct addition add = {
		.assembly = assembly,
		.pprof = pprof,
		.columns = columns,
		.column_count = count,
		.wish = calloc(pprof->function_count + 1, sizeof(*add.wish)),
		.seen = calloc(assembly->wish_count + 1, sizeof(*add.seen)),
	};
	int err = add.wish && add.seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < pprof->function_count && !err; i++)
		add.wish[i] =
			find_code_wish(assembly, pprof->functions[i].name);
	for (size_t i = 0; i < pprof->sample_count && !err; i++)
		for (size_t k = 0; k < pprof->samples[i].depth && !err; k++)
			err = add_code_frame(&add, i, k);
	free(add.wish);
	free(add.seen);
	return err;
}

/* --- files ---------------------------------------------------------------- */

/* Opens the file of @module, if it is the recorded one. */
static int open_code_module(struct assembly *assembly,
			    struct code_module *module)
{
	const char *path = module->path, *build_id, *error;
	struct stat status;
	int fd, put = 0;

	if (path[0] != '/') {
		put = asprintf(&module->why, "%s is not code of a file",
			       path[0] ? path : "it");
		return put < 0 ? -ENOMEM : 0;
	}
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status)) {
		put = asprintf(&module->why, "cannot open %s: %s", path,
			       strerror(errno));
		if (fd >= 0)
			close(fd);
		return put < 0 ? -ENOMEM : 0;
	}
	module->file = symbol_cache_file(assembly->cache, geteuid(), fd, path);
	close(fd);
	if (!module->file)
		return -ENOMEM;
	error = symbol_file_error(module->file);
	build_id = symbol_file_build_id(module->file);
	if (error && !build_id[0])
		put = asprintf(&module->why, "cannot read %s: %s", path, error);
	else if (module->build_id[0] && strcmp(build_id, module->build_id))
		put = asprintf(&module->why,
			       "%s is not the file that was recorded: its "
			       "build-id is %s, not %s",
			       path, build_id[0] ? build_id : "missing",
			       module->build_id);
	else if (!module->build_id[0] &&
		 (uint64_t)status.st_ctim.tv_sec * 1000000000 +
				 (uint64_t)status.st_ctim.tv_nsec >=
			 module->recorded_ns)
		put = asprintf(&module->why,
			       "%s was changed after the recording began, and "
			       "it has no build-id to compare",
			       path);
	if (module->why)
		symbol_file_put(&module->file);
	return put < 0 ? -ENOMEM : 0;
}

/* Finds the part that has @place, or adds it. */
static int find_code_part(struct assembly *assembly,
			  const struct code_place *place,
			  const struct code_module *module,
			  struct assembly_part **out)
{
	struct assembly_part part = { .wish = assembly->wishes[place->wish],
				      .module = module->path,
				      .build_id = module->build_id,
				      .symbol = "" };
	const char *why = module->why;
	const char *symbol;
	uint64_t vaddr, start;

	if (module->file) {
		if (!symbol_file_vaddr(module->file, place->offset, &vaddr) ||
		    !symbol_file_range(module->file, vaddr, &part.start,
				       &part.end))
			why = "no function is known at the sampled address";
		else if ((symbol = symbol_file_lookup(module->file, part.start,
						      &start)))
			part.symbol = symbol;
	}
	for (size_t i = 0; i < assembly->part_count; i++) {
		*out = &assembly->parts[i];
		if ((*out)->wish == part.wish &&
		    (*out)->module == part.module &&
		    (*out)->build_id == part.build_id &&
		    (*out)->start == part.start)
			return 0;
	}
	if (why && !(part.why = strdup(why)))
		return -ENOMEM;
	if (grow_array(assembly->parts, assembly->part_room,
		       assembly->part_count + 1)) {
		free(part.why);
		return -ENOMEM;
	}
	*out = &assembly->parts[assembly->part_count++];
	**out = part;
	return 0;
}

/* --- instructions --------------------------------------------------------- */

/* Returns a copy of @text with a name for its target, or NULL. */
static char *name_target(struct symbol_file *file,
			 const struct assembly_part *part, const char *text,
			 uint64_t target)
{
	const char *mark = strchr(text, ELF_ASSEMBLY_TARGET), *name = NULL;
	bool is_inside = target >= part->start && target < part->end;
	uint64_t start = is_inside ? part->start : 0;
	char word[NAME_FOLD_BYTES] = "", offset[24] = "";
	char *out;

	if (!mark)
		return strdup(text);
	if (!is_inside)
		name = symbol_file_lookup(file, target, &start);
	if (name)
		name_fold(name, word);
	if (!name || target != start)
		snprintf(offset, sizeof(offset), "%s0x%" PRIx64,
			 start ? "+" : "", target - start);
	return asprintf(&out, "%.*s%s%s%s", (int)(mark - text), text, word,
			offset, mark + 1) < 0
		       ? NULL
		       : out;
}

static int read_code_part(struct symbol_file *file, struct assembly_part *part)
{
	char why[SYMBOLIZE_WHY_BYTES];
	struct elf_assembly code;
	uint64_t end = part->start;
	int err =
		symbol_file_assembly(file, part->start, part->end, &code, why);

	if (!err && !code.count)
		snprintf(why, sizeof(why), "%s ends before the function",
			 part->module);
	if (err || !code.count) {
		part->why = strdup(why);
		return part->why ? 0 : -ENOMEM;
	}
	part->lines = calloc(code.count + 1, sizeof(*part->lines));
	if (!part->lines)
		err = -ENOMEM;
	for (size_t i = 0; i < code.count && !err; i++) {
		const struct elf_instruction *from = &code.list[i];
		struct assembly_line *to = &part->lines[part->count];

		*to = (struct assembly_line){
			.vaddr = part->start + from->at,
			.bytes = from->bytes,
			.file = "",
			.text = name_target(file, part,
					    code.strings + from->text,
					    from->target),
		};
		if (!to->text)
			err = -ENOMEM;
		else
			part->count++;
		end = to->vaddr + to->bytes;
	}
	part->left_out = part->end - MIN(end, part->end);
	free(code.list);
	free(code.strings);
	return err;
}

static void add_code_place(struct assembly_part *part, struct symbol_file *file,
			   const struct code_place *place)
{
	uint64_t vaddr;
	size_t after;

	for (size_t k = 0; k < ASSEMBLY_VALUES; k++)
		add_saturated_to(&part->sum[k], place->value[k]);
	if (!part->lines || !symbol_file_vaddr(file, place->offset, &vaddr))
		return;
	after = search_first(i, part->count, part->lines[i].vaddr > vaddr);
	if (!after || vaddr - part->lines[after - 1].vaddr >=
			      part->lines[after - 1].bytes)
		return;
	for (size_t k = 0; k < ASSEMBLY_VALUES; k++)
		add_saturated_to(&part->lines[after - 1].value[k],
				 place->value[k]);
}

/* Sets file and line of the instructions of @module, by one process that reads
 * its debug information. */
static int find_code_lines(struct assembly *assembly,
			   const struct code_module *module)
{
	struct assembly_line **lines = NULL;
	size_t count = 0, room = 0;
	uint64_t *vaddr;
	struct source *source;
	int err = 0;

	for (size_t i = 0; i < assembly->part_count && !err; i++) {
		struct assembly_part *part = &assembly->parts[i];

		if (part->module != module->path ||
		    part->build_id != module->build_id)
			continue;
		err = grow_array(lines, room, count + part->count);
		for (size_t k = 0; k < part->count && !err; k++)
			lines[count++] = &part->lines[k];
	}
	vaddr = calloc(count + 1, sizeof(*vaddr));
	source = calloc(count + 1, sizeof(*source));
	if (!vaddr || !source)
		err = -ENOMEM;
	for (size_t i = 0; i < count && !err; i++)
		vaddr[i] = lines[i]->vaddr;
	if (!err)
		symbol_file_sources(module->file, vaddr, count, source);
	for (size_t i = 0; i < count && !err; i++) {
		if (!source[i].count)
			continue;
		lines[i]->file = source[i].frames[0].file;
		lines[i]->line = source[i].frames[0].line;
	}
	free(lines);
	free(vaddr);
	free(source);
	return err;
}

static int compare_code_parts(const void *left, const void *right)
{
	const struct assembly_part *a = left, *b = right;

	for (size_t k = 0; k < ASSEMBLY_VALUES; k++)
		if (a->sum[k] != b->sum[k])
			return a->sum[k] > b->sum[k] ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

int assembly_read(struct assembly *assembly, struct assembly_part **out,
		  size_t *count)
{
	struct code_module *modules = assembly->modules.items;
	const struct code_place *places = assembly->places.items;
	int err = 0;

	for (size_t i = 0; i < assembly->modules.count && !err; i++)
		err = open_code_module(assembly, &modules[i]);
	for (size_t i = 0; i < assembly->places.count && !err; i++) {
		struct code_module *module = &modules[places[i].module];
		struct assembly_part *part;

		err = find_code_part(assembly, &places[i], module, &part);
		if (!err && !part->lines && !part->why)
			err = read_code_part(module->file, part);
		if (!err)
			add_code_place(part, module->file, &places[i]);
	}
	for (size_t i = 0; i < assembly->modules.count && !err; i++)
		if (modules[i].file)
			err = find_code_lines(assembly, &modules[i]);
	if (assembly->part_count)
		qsort(assembly->parts, assembly->part_count,
		      sizeof(*assembly->parts), compare_code_parts);
	*out = assembly->parts;
	*count = assembly->part_count;
	return err;
}
