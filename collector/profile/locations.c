/* SPDX-License-Identifier: Apache-2.0
 *
 * locations - two pools: places, which are modules identified by path and
 * build-id, and locations, which are mostly addresses in modules.
 *
 * A pprof file has one address space, but modules may be mapped at different
 * addresses in each process. A module keeps the addresses of the process where
 * it was seen first. Modules of different processes may overlap, so each
 * location names its module.
 */
#include "collector/profile/locations.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/names/kernel_names.h"
#include "collector/names/modules.h"
#include "collector/names/sites.h"
#include "collector/names/symbolize_wire.h"
#include "collector/names/symbols.h"
#include "collector/output/out_pprof.h"
#include "collector/profile/stacks.h"
#include "shared/compiler.h"
#include "shared/hash.h"

/* The longest name of a thread, without NUL. */
#define COMM_BYTES 15

/* Keys come first in both structs; see pool.h. */
struct place {
	const char *path, *build_id;
	uint64_t file_offset;
	const struct symbol_file *unnamed; /* the file, if it has no build-id */

	uint64_t start, end;
	uint64_t bias; /* added to virtual addresses of the file */
	struct symbol_file *file; /* a reference; may be NULL */
	bool has_functions; /* some function has a name */
};

enum location_kind {
	LOCATION_ENTRY,
	LOCATION_CODE, /* an instruction, or one of a call */
	LOCATION_MARK, /* vaddr 0 */
	LOCATION_SITE, /* of an annotation; vaddr 0 */
	LOCATION_KERNEL, /* a function of the kernel; vaddr 0 */
};

struct location {
	uint64_t vaddr;
	const char *name;
	uint32_t place; /* number + 1; 0: none */
	uint32_t kind; /* enum location_kind */
	const char *file; /* of a site; NULL: from the place's symbols */
	uint64_t line;

	struct source source; /* valid while the place has its file */
	bool is_source_final; /* the file is not asked again */
};

static struct place *place_at(const struct locations *locations, size_t number)
{
	return (struct place *)locations->places.items + number;
}

static struct location *location_at(const struct locations *locations,
				    size_t number)
{
	return (struct location *)locations->items.items + number;
}

void locations_init(struct locations *locations, struct symbol_cache *cache,
		    struct budget *budget)
{
	locations->cache = cache;
	pool_init(&locations->places, budget, sizeof(struct place),
		  offsetof(struct place, start));
	pool_init(&locations->items, budget, sizeof(struct location),
		  offsetof(struct location, source));
}

void locations_release(struct locations *locations)
{
	for (size_t i = 0; i < locations->places.count; i++)
		symbol_file_put(&place_at(locations, i)->file);
	pool_release(&locations->places);
	pool_release(&locations->items);
}

/* --- adding -------------------------------------------------------------- */

/* Returns the unique string of the symbol cache for @text: the pointer may be
 * part of a key. */
static const char *unique_text(const struct locations *locations,
			       const char *text)
{
	const char *one = symbol_cache_string(locations->cache, text);

	return one ? one : text;
}

/* Finds @place or adds it; a new place takes a reference to its file. Returns 0
 * or -ENOMEM. */
static int intern_place(struct locations *locations, const struct place *place,
			uint32_t *out)
{
	int added = pool_intern(&locations->places, place, out);

	if (added < 0)
		return added;
	if (added)
		symbol_file_get(place->file);
	place_at(locations, *out)->has_functions |= place->has_functions;
	return 0;
}

static int find_module_place(struct locations *locations,
			     struct modules *modules, uint64_t address,
			     uint32_t generation, const struct symbol *symbol,
			     struct location *location)
{
	struct module_place where;
	struct place place;
	uint32_t number;
	int err;

	if (symbol->is_jit)
		where = (struct module_place){ .bias = 0 };
	else if (symbol->site ||
		 !modules_place(modules, address, generation, &where))
		return 0;
	place = (struct place){
		.path = unique_text(locations, symbol->module),
		.build_id = unique_text(locations, symbol->build_id),
		.file_offset = where.file_offset,
		.unnamed = *symbol->build_id ? NULL : where.file,
		.start = where.start,
		.end = where.end,
		.bias = address - symbol->offset,
		.file = where.file,
		.has_functions = symbol->found,
	};
	err = intern_place(locations, &place, &number);
	symbol_file_put(&where.file);
	if (!err)
		location->place = number + 1;
	return err;
}

int locations_mark(struct locations *locations, const char *name, uint32_t *out)
{
	const struct location location = { .name = unique_text(locations, name),
					   .kind = LOCATION_MARK };

	return MIN(pool_intern(&locations->items, &location, out), 0);
}

static bool is_mark(const struct locations *locations, uint32_t number,
		    const char *name)
{
	const struct location *location = location_at(locations, number);

	return location->kind == LOCATION_MARK && !strcmp(location->name, name);
}

bool locations_is_own(const struct locations *locations, uint32_t number)
{
	return is_mark(locations, number, stacks_frame_name(FRAME_PERFREC));
}

bool locations_serves_caller(const struct locations *locations, uint32_t number)
{
	const char *name, *module;

	locations_name(locations, number, &name, &module);
	return location_at(locations, number)->kind == LOCATION_KERNEL ||
	       is_mark(locations, number, stacks_frame_name(FRAME_KERNEL)) ||
	       (*module && modules_is_clock(name, module));
}

static int find_kernel_code(struct locations *locations, uint32_t function,
			    uint32_t *out)
{
	const struct kernel_names *names = kernel_names_shared();
	struct location location = {
		.name = unique_text(locations,
				    kernel_names_name(names, function)),
		.kind = LOCATION_KERNEL,
	};
	const struct place place = {
		.path = unique_text(locations,
				    kernel_names_module(names, function)),
		.build_id = unique_text(locations, ""),
		.has_functions = true,
	};
	uint32_t number;
	int err = intern_place(locations, &place, &number);

	if (err)
		return err;
	location.place = number + 1;
	return MIN(pool_intern(&locations->items, &location, out), 0);
}

int locations_find(struct locations *locations, struct modules *modules,
		   const struct stack_frame *frame, uint32_t *out)
{
	struct location location = { .kind = frame->kind == FRAME_ENTRY
						     ? LOCATION_ENTRY
						     : LOCATION_CODE };
	/* A return address is that of the instruction after the call. */
	uint64_t address = frame->address - (frame->kind == FRAME_RETURN);
	struct symbol symbol;
	int err;

	if (frame->kind == FRAME_KERNEL_CODE)
		return find_kernel_code(locations, (uint32_t)frame->address,
					out);
	if (frame->kind == FRAME_TEXT)
		return locations_mark(locations, stack_frame_text(frame), out);
	if (frame->kind == FRAME_NAMED)
		return locations_mark(locations,
				      stacks_frame_name(frame->address), out);
	if (frame->kind != FRAME_ENTRY &&
	    modules_owner(modules, address, frame->generation) !=
		    MODULE_PROGRAM)
		return locations_mark(locations,
				      stacks_frame_name(FRAME_PERFREC), out);
	modules_resolve(modules, address, frame->generation, &symbol);
	location.name = unique_text(locations, symbol.name);
	if (symbol.site) {
		location.kind = LOCATION_SITE;
		location.file = unique_text(locations, symbol.site->file);
		location.line = symbol.site->line;
		return MIN(pool_intern(&locations->items, &location, out), 0);
	}
	location.vaddr = symbol.offset;
	err = find_module_place(locations, modules, address, frame->generation,
				&symbol, &location);
	if (err)
		return err;
	return MIN(pool_intern(&locations->items, &location, out), 0);
}

int locations_merge(struct locations *locations, const struct locations *from,
		    uint32_t *out)
{
	uint32_t *place = calloc(from->places.count + 1, sizeof(*place));
	int err = place ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->places.count && err >= 0; i++)
		err = intern_place(locations, place_at(from, i), &place[i]);
	for (size_t i = 0; i < from->items.count && err >= 0; i++) {
		struct location location = *location_at(from, i);

		if (location.place)
			location.place = place[location.place - 1] + 1;
		/* The place may have another file here. */
		location.source = (struct source){ .count = 0 };
		location.is_source_final = false;
		err = pool_intern(&locations->items, &location, &out[i]);
	}
	free(place);
	return MIN(err, 0);
}

void locations_name(const struct locations *locations, uint32_t number,
		    const char **name, const char **module)
{
	const struct location *location = location_at(locations, number);

	*name = location->name;
	*module = location->place
			  ? place_at(locations, location->place - 1)->path
			  : "";
}

/* --- sources ------------------------------------------------------------- */

/* A function whose name another file may also have. */
struct twin {
	uint32_t place; /* as in struct location */
	const char *plain, *alias; /* as in struct source_frame */
};

struct sources {
	const struct locations *locations;
	/* By location: unused ones count as without a place. NULL: all are
	 * used. */
	const bool *used;
	/* Names in several files, sorted, without aliases. */
	struct twin *twins;
	size_t twin_count;
	size_t *first; /* see sort_by_place() */
	uint32_t *order;
};

static uint32_t place_of_source(const struct sources *sources, size_t index)
{
	if (sources->used && !sources->used[index])
		return 0;
	return location_at(sources->locations, index)->place;
}

/* Sorts location numbers by place into sources->order; those of place i begin
 * at sources->first[i]. Returns 0 or -ENOMEM. */
static int sort_by_place(struct sources *sources)
{
	const struct locations *locations = sources->locations;
	size_t places = locations->places.count, all = locations->items.count;

	sources->first = calloc(places + 2, sizeof(*sources->first));
	sources->order = calloc(all + 1, sizeof(*sources->order));
	if (!sources->first || !sources->order)
		return -ENOMEM;
	/* first[i + 2] is the number of locations of place i, and later the
	 * index of its next one. */
	for (size_t i = 0; i < all; i++)
		if (place_of_source(sources, i))
			sources->first[place_of_source(sources, i) + 1]++;
	for (size_t i = 2; i < places + 2; i++)
		sources->first[i] += sources->first[i - 1];
	for (size_t i = 0; i < all; i++) {
		uint32_t place = place_of_source(sources, i);

		if (place)
			sources->order[sources->first[place]++] = (uint32_t)i;
	}
	return 0;
}

/* Finds the sources of the locations of @place that have no final source yet.
 * Returns 0 or -ENOMEM. */
static int find_place_sources(struct sources *sources, size_t place)
{
	const struct locations *locations = sources->locations;
	const uint32_t *order = sources->order + sources->first[place];
	size_t count = sources->first[place + 1] - sources->first[place];
	uint64_t *vaddr = calloc(count + 1, sizeof(*vaddr));
	struct source *source = calloc(count + 1, sizeof(*source));
	int err = vaddr && source ? 0 : -ENOMEM;
	size_t asked = 0;
	bool final;

	for (size_t i = 0; i < count && !err; i++) {
		const struct location *location =
			location_at(locations, order[i]);

		if (!location->is_source_final)
			vaddr[asked++] = location->vaddr;
	}
	final = asked && symbol_file_sources(place_at(locations, place)->file,
					     vaddr, asked, source);
	asked = 0;
	for (size_t i = 0; i < count && !err; i++) {
		struct location *location = location_at(locations, order[i]);

		if (location->is_source_final)
			continue;
		location->source = source[asked++];
		location->is_source_final = final;
	}
	free(vaddr);
	free(source);
	return err;
}

static int compare_pointers(const char *a, const char *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int compare_twin_locations(const void *left, const void *right)
{
	const struct twin *a = left, *b = right;
	int order;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	order = compare_pointers(a->plain, b->plain);
	return order ? order : compare_pointers(a->alias, b->alias);
}

static int add_twins(struct sources *sources, size_t index, size_t *room)
{
	const struct location *location =
		location_at(sources->locations, index);
	const struct source *source = &location->source;
	uint32_t place = location->place;

	if (grow_array(sources->twins, *room,
		       sources->twin_count + 2 * source->count))
		return -ENOMEM;
	for (size_t i = 0; i < source->count; i++) {
		const struct source_frame *frame = &source->frames[i];
		struct twin twin = { place, frame->plain, frame->alias };

		if (!frame->alias)
			continue;
		sources->twins[sources->twin_count++] = twin;
		/* The symbol table has several even if only one has samples. */
		twin.alias = NULL;
		if (!strcmp(frame->function, frame->alias))
			sources->twins[sources->twin_count++] = twin;
	}
	return 0;
}

static int find_twins(struct sources *sources)
{
	size_t room = 0, kept = 0, end;
	struct twin *twins;

	for (size_t i = 0; i < sources->locations->items.count; i++)
		if (place_of_source(sources, i) && add_twins(sources, i, &room))
			return -ENOMEM;
	twins = sources->twins;
	if (sources->twin_count)
		qsort(twins, sources->twin_count, sizeof(*twins),
		      compare_twin_locations);
	for (size_t i = 0; i < sources->twin_count; i = end) {
		for (end = i + 1; end < sources->twin_count; end++)
			if (twins[end].place != twins[i].place ||
			    twins[end].plain != twins[i].plain)
				break;
		if (twins[i].alias != twins[end - 1].alias)
			twins[kept++] = (struct twin){ twins[i].place,
						       twins[i].plain, NULL };
	}
	sources->twin_count = kept;
	return 0;
}

static void sources_release(struct sources *sources)
{
	free(sources->twins);
	free(sources->first);
	free(sources->order);
}

/* Finds the sources of the @used locations. The caller calls sources_release()
 * in any case. Returns 0 or -ENOMEM. */
static int sources_find(const struct locations *locations, const bool *used,
			struct sources *out)
{
	int err;

	*out = (struct sources){
		.locations = locations,
		.used = used,
	};
	err = sort_by_place(out);
	for (size_t i = 0; i < locations->places.count && !err; i++)
		if (place_at(locations, i)->file)
			err = find_place_sources(out, i);
	return err ? err : find_twins(out);
}

/* Returns the first frame of location @index. Its functions are the frames up
 * to *@last, which has its own code. */
static size_t first_source_frame(const struct sources *sources, size_t index,
				 size_t *last)
{
	const struct location *location =
		location_at(sources->locations, index);
	const struct source *source = &location->source;
	size_t first;

	*last = source->count ? source->count - 1 : 0;
	/* At the entry of a function, inlined functions have not begun. */
	first = location->kind == LOCATION_ENTRY ? *last : 0;
	/* If there are too many functions, drop the innermost. */
	if (*last - first >= SYMBOLIZE_FRAMES_MAX)
		first = *last - (SYMBOLIZE_FRAMES_MAX - 1);
	return first;
}

static const char *frame_name(const struct sources *sources, size_t index,
			      size_t i, size_t last)
{
	const struct location *location =
		location_at(sources->locations, index);
	const struct source_frame *frame =
		i < last ? &location->source.frames[i] : NULL;
	struct twin wanted = { .place = location->place };

	if (!frame || !frame->function[0])
		return location->name;
	wanted.plain = frame->plain;
	return frame->alias && sources->twin_count &&
			       bsearch(&wanted, sources->twins,
				       sources->twin_count, sizeof(wanted),
				       compare_twin_locations)
		       ? frame->alias
		       : frame->function;
}

static int names_of_sources(const struct sources *sources, bool inlined,
			    struct location_names *out)
{
	size_t locations = sources->locations->items.count, all = 0, last;

	for (size_t i = 0; i < locations; i++) {
		size_t at = first_source_frame(sources, i, &last);

		out->first[i] = all;
		all += inlined ? last + 1 - at : 1;
	}
	out->first[locations] = all;
	out->name = calloc(all + 1, sizeof(*out->name));
	if (!out->name)
		return -ENOMEM;
	for (size_t i = 0; i < locations; i++) {
		size_t at = first_source_frame(sources, i, &last);
		const char **name = &out->name[out->first[i]];

		for (at = inlined ? at : last; at <= last; at++)
			*name++ = frame_name(sources, i, at, last);
	}
	return 0;
}

int location_names_find(const struct locations *locations, bool inlined,
			struct location_names *out)
{
	struct sources sources;
	int err = sources_find(locations, NULL, &sources);

	*out = (struct location_names){
		.first =
			calloc(locations->items.count + 1, sizeof(*out->first)),
	};
	if (!err)
		err = out->first ? names_of_sources(&sources, inlined, out)
				 : -ENOMEM;
	sources_release(&sources);
	return err;
}

void location_names_release(struct location_names *names)
{
	free(names->name);
	free(names->first);
}

/* --- writing ------------------------------------------------------------- */

struct writing {
	const struct locations *locations;
	struct sources sources;
	struct out_pprof *out;
	struct pool functions; /* struct function */
};

struct function {
	const char *name, *file;
	uint32_t start_line;
};

static uint64_t hash_written_function(const void *item)
{
	static const char here;
	const struct function *function = item;
	/* A hostile file chooses texts and lines, but does not know this
	 * address, so it cannot give all its functions one slot. */
	uint64_t hash = hash_fold((uintptr_t)&here * HASH_MULTIPLIER);

	hash = hash_text(hash_text(hash, function->name), function->file);
	return hash_fold((hash ^ function->start_line) * HASH_MULTIPLIER);
}

static bool is_same_written_function(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->start_line == y->start_line && !strcmp(x->name, y->name) &&
	       !strcmp(x->file, y->file);
}

/* Compares texts, as each file has its own copy of a text. */
static const struct pool_key written_function_key = {
	hash_written_function, is_same_written_function
};

static bool has_lines(const struct writing *writing, size_t place)
{
	const struct sources *sources = &writing->sources;

	for (size_t i = sources->first[place]; i < sources->first[place + 1];
	     i++)
		if (location_at(writing->locations, sources->order[i])
			    ->source.count)
			return true;
	return false;
}

static void write_place(struct writing *writing, size_t number)
{
	const struct place *place = place_at(writing->locations, number);
	struct out_mapping mapping = {
		.id = number + 1,
		.start = place->start,
		.end = place->end,
		.file_offset = place->file_offset,
		.path = place->path,
		.build_id = place->build_id,
		.has_functions = place->has_functions,
		.has_lines = has_lines(writing, number),
	};

	out_pprof_mapping(writing->out, &mapping);
}

/* Readers take the first mapping of a file as that of the program. */
static void write_places(struct writing *writing, const char *program)
{
	const struct locations *locations = writing->locations;
	size_t count = locations->places.count, first = 0;
	const char *slash;

	for (size_t i = count; i > 0 && program && program[0]; i--) {
		slash = strrchr(place_at(locations, i - 1)->path, '/');
		if (slash && !strncmp(slash + 1, program, COMM_BYTES))
			first = i - 1;
	}
	if (count)
		write_place(writing, first);
	for (size_t i = 0; i < count; i++)
		if (i != first)
			write_place(writing, i);
}

static bool make_line(struct writing *writing, const struct source_frame *frame,
		      const char *name, struct out_line *out)
{
	struct function function = { .name = name, .file = "" };
	struct out_function written = { .name = name };
	uint32_t number;
	int added;

	*out = (struct out_line){ 0 };
	if (frame) {
		function.file = frame->file;
		function.start_line = frame->start_line;
		out->line = frame->line;
	}
	added = pool_intern(&writing->functions, &function, &number);
	if (added < 0)
		return false;
	out->function = number + 1ULL;
	written.id = out->function;
	written.file = function.file;
	written.start_line = function.start_line;
	if (added)
		out_pprof_function(writing->out, &written);
	return true;
}

static size_t make_lines(struct writing *writing, size_t index,
			 struct out_line out[SYMBOLIZE_FRAMES_MAX])
{
	const struct location *location =
		location_at(writing->locations, index);
	const struct source *source = &location->source;
	size_t last, made = 0;

	if (location->kind == LOCATION_SITE) {
		const struct source_frame site = {
			.file = location->file,
			.line = (uint32_t)location->line,
			.start_line = (uint32_t)location->line,
		};

		return make_line(writing, &site, location->name, &out[0]);
	}
	for (size_t i = first_source_frame(&writing->sources, index, &last);
	     i <= last; i++) {
		const struct source_frame *frame =
			source->count ? &source->frames[i] : NULL;
		const char *name =
			frame_name(&writing->sources, index, i, last);

		if (!make_line(writing, frame, name, &out[made++]))
			return 0;
	}
	return made;
}

static int write_items(struct writing *writing)
{
	const struct locations *locations = writing->locations;
	struct out_line lines[SYMBOLIZE_FRAMES_MAX];

	for (size_t i = 0; i < locations->items.count; i++) {
		const struct location *location = location_at(locations, i);
		struct out_location out = {
			.id = i + 1,
			.mapping = location->place,
			.address = location->vaddr,
			.lines = lines,
		};

		if (writing->sources.used && !writing->sources.used[i])
			continue;
		if (location->place)
			out.address +=
				place_at(locations, location->place - 1)->bias;
		out.line_count = make_lines(writing, i, lines);
		if (!out.line_count)
			return -ENOMEM;
		out_pprof_location(writing->out, &out);
	}
	return 0;
}

int locations_write(const struct locations *locations, const char *program,
		    const bool *used, struct out_pprof *out)
{
	struct writing writing = {
		.locations = locations,
		.out = out,
	};
	int err = sources_find(locations, used, &writing.sources);

	pool_init_key(&writing.functions, NULL, sizeof(struct function),
		      &written_function_key);
	if (!err) {
		write_places(&writing, program);
		err = write_items(&writing);
	}
	pool_release(&writing.functions);
	sources_release(&writing.sources);
	return err;
}
