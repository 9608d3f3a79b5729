/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/page/page_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/grow.h"
#include "collector/base/path.h"
#include "collector/output/own_files.h"
#include "collector/read/summary_read.h"
#include "shared/compiler.h"

/* For functions, stacks and texts. */
#define OWN_NAME "[perfrec]" /* frame of perfrec itself (locations.h) */
#define BUDGET_BYTES (UINT64_C(160) << 20)

const struct page_key_text page_keys[PAGE_KEYS] = {
	[PAGE_WALL] = { "wall", "Wall time", "nanoseconds", "calls" },
	[PAGE_CALLS] = { "calls", "Calls", "count", "calls" },
	[PAGE_CPU] = { "cpu", "CPU time", "nanoseconds", "samples" },
	[PAGE_ON_CPU] = { "on_cpu", "On CPU", "nanoseconds", "switches" },
	[PAGE_RUNNABLE] = { "runnable", "Runnable", "nanoseconds", "switches" },
	[PAGE_BLOCKED] = { "blocked", "Blocked", "nanoseconds", "switches" },
	[PAGE_WAITED] = { "waited", "Blocked on", "nanoseconds", "waits" },
	[PAGE_ALLOC_SPACE] = { "alloc_space", "Allocated", "bytes",
			       "allocations" },
	[PAGE_ALLOC_OBJECTS] = { "alloc_objects", "Blocks allocated", "count",
				 "allocations" },
	[PAGE_INUSE_SPACE] = { "inuse_space", "In use at the end", "bytes",
			       "allocations" },
	[PAGE_INUSE_OBJECTS] = { "inuse_objects", "Blocks in use at the end",
				 "count", "allocations" },
	[PAGE_PEAK_SPACE] = { "peak_space", "In use at the peak", "bytes",
			      "allocations" },
};

int page_data_init(struct page_data *data, bool compares)
{
	const struct page_function none = { 0 };
	uint32_t number;
	int err;

	*data = (struct page_data){ .compares = compares,
				    .budget.left = BUDGET_BYTES };
	pool_init(&data->functions, &data->budget, sizeof(struct page_function),
		  offsetof(struct page_function, file));
	pool_init(&data->nodes, &data->budget, sizeof(struct page_node),
		  sizeof(struct page_node));
	pool_init(&data->lines, &data->budget, sizeof(struct page_line),
		  offsetof(struct page_line, amount));
	err = trace_texts_init(&data->texts, &data->budget);
	if (!err && pool_intern(&data->functions, &none, &number) < 0)
		err = -ENOMEM;
	return err;
}

void page_data_release(struct page_data *data)
{
	for (size_t i = 0; i < PAGE_KEYS; i++) {
		free(data->value[i].amounts);
		free(data->value[i].sums);
	}
	calls_free(&data->calls);
	lock_list_release(&data->locks);
	critical_path_free(&data->path.path);
	trace_sched_free(&data->sched);
	free(data->trace_texts);
	free(data->shown_texts);
	free(data->rounds);
	pool_release(&data->functions);
	pool_release(&data->nodes);
	pool_release(&data->lines);
	trace_texts_release(&data->texts);
}

/* --- texts and functions --- */

uint32_t page_data_text(struct page_data *data, const char *text)
{
	uint32_t number = trace_texts_number(
		&data->texts, (const uint8_t *)text, strlen(text));

	data->short_of_memory |= !number && *text;
	return number;
}

uint32_t page_data_function(struct page_data *data, uint32_t name,
			    uint32_t module)
{
	const struct page_function item = { .name = name, .module = module };
	uint32_t number;

	if (pool_intern(&data->functions, &item, &number) >= 0)
		return number;
	data->short_of_memory = true;
	return 0;
}

static uint32_t find_module(struct page_data *data, const char *module)
{
	/* Two builds of a program have different folders. */
	return page_data_text(data,
			      data->compares ? path_name(module) : module);
}

uint64_t page_data_first_ns(const struct page_data *data)
{
	const uint64_t from_ns = data->calls->range.from_ns;
	const uint64_t event_ns = data->calls->tree.totals.first_ns;

	if (from_ns)
		return MAX(from_ns, data->origin_ns);
	return event_ns ? MIN(event_ns, data->origin_ns) : data->origin_ns;
}

void page_data_set_calls(struct page_data *data, struct calls *calls,
			 uint64_t origin_ns)
{
	uint32_t count = calls ? calls->tree.nodes.count : 0;

	data->calls = calls;
	data->origin_ns = origin_ns;
	if (!calls)
		return;
	data->shown_texts = calloc(trace_reader_texts(calls->tree.reader) + 1UL,
				   sizeof(*data->shown_texts));
	data->short_of_memory |= !data->shown_texts;
	for (uint32_t i = 0; i < count && data->shown_texts; i++) {
		uint32_t name = call_tree_node(&calls->tree, i)->name, text;
		uint32_t known = data->trace_text_room;

		if (data->shown_texts[name])
			continue;
		text = page_data_text(
			data, trace_reader_text(calls->tree.reader, name));
		if (grow_array(data->trace_texts, data->trace_text_room,
			       (size_t)text + 1)) {
			data->short_of_memory = true;
			return;
		}
		for (; known < data->trace_text_room; known++)
			data->trace_texts[known] = 0;
		data->trace_texts[text] = name;
		data->shown_texts[name] = text;
	}
}

/* --- stacks --- */

/* State of a walk along a stack from its outermost frame, in the page and in
 * the trace. */
struct walk {
	uint32_t node; /* number + 1; 0: no frame yet */
	uint32_t leaf;
	bool lost; /* the trace lacks this stack */
};

static bool walk_in(struct page_data *data, struct walk *walk,
		    uint32_t function)
{
	const struct page_node item = { .parent = walk->node,
					.function = function };
	uint32_t number;

	if (pool_intern(&data->nodes, &item, &number) < 0) {
		data->short_of_memory = true;
		return false;
	}
	walk->node = number + 1;
	return true;
}

/* Follows the same frame in the trace, which has one frame for a location. */
static void walk_trace(struct page_data *data, struct walk *walk, uint32_t text)
{
	uint32_t name =
		text < data->trace_text_room ? data->trace_texts[text] : 0;

	if (!data->calls || walk->lost)
		return;
	if (!name || !calls_find(data->calls, walk->leaf, name, &walk->leaf))
		walk->lost = true;
}

/* Functions of the lines of a profile. A name is looked up once for each line,
 * not for each frame of a stack. */
struct line_functions {
	const struct pprof *pprof;
	size_t *first; /* by location */
	uint32_t *number; /* by first[] + line: number + 1; 0: not known yet */
};

static bool line_functions_init(struct line_functions *lines,
				const struct pprof *pprof)
{
	size_t count = 0;

	*lines = (struct line_functions){
		.pprof = pprof,
		.first = calloc(pprof->location_count + 1, sizeof(size_t)),
	};
	for (size_t i = 0; i < pprof->location_count && lines->first; i++) {
		lines->first[i] = count;
		count += MAX(pprof->locations[i].line_count, 1u);
	}
	lines->number = calloc(count + 1, sizeof(*lines->number));
	return lines->first && lines->number;
}

static void line_functions_release(struct line_functions *lines)
{
	free(lines->first);
	free(lines->number);
}

static uint32_t frame_function(struct page_data *data,
			       const struct pprof *pprof,
			       const struct pprof_location *location, size_t i)
{
	const char *name = path_name(location->module), *file = "";
	struct page_function *function;
	uint32_t line = 0, number;

	if (i < location->line_count) {
		const struct pprof_line *at = &location->lines[i];

		name = pprof->functions[at->function].name;
		file = pprof->functions[at->function].file;
		line = at->line;
	}
	number = page_data_function(
		data, page_data_text(data, name[0] ? name : "[unknown]"),
		find_module(data, location->module));
	function = &((struct page_function *)data->functions.items)[number];
	if (number && file[0] &&
	    (!function->file || (line && line < function->line))) {
		function->file = page_data_text(data, file);
		function->line = line;
	}
	return number;
}

static void walk_location(struct page_data *data,
			  const struct line_functions *lines, uint32_t at,
			  struct walk *walk)
{
	const struct pprof_location *location = &lines->pprof->locations[at];
	uint32_t *known = &lines->number[lines->first[at]];
	size_t count = MAX(location->line_count, 1u);

	/* The outermost frame comes last, and is the one in the trace. */
	for (size_t i = count; i-- > 0;) {
		if (!known[i])
			known[i] = frame_function(data, lines->pprof, location,
						  i) +
				   1;
		if (!walk_in(data, walk, known[i] - 1))
			return;
		if (i == count - 1)
			walk_trace(data, walk,
				   page_data_function_at(data, known[i] - 1)
					   ->name);
	}
}

static struct walk walk_sample(struct page_data *data,
			       const struct line_functions *lines,
			       const struct pprof_sample *sample)
{
	struct walk walk = { 0 };

	for (uint32_t i = sample->depth; i-- > 0;)
		walk_location(data, lines, sample->stack[i], &walk);
	if (walk.lost)
		walk.leaf = 0;
	return walk;
}

/* --- sums --- */

struct page_sums *page_data_sums(struct page_data *data, enum page_key key,
				 uint32_t function)
{
	struct page_value *value = &data->value[key];
	size_t known = value->sum_room;

	if (grow_array(value->sums, value->sum_room, (size_t)function + 1)) {
		data->short_of_memory = true;
		return NULL;
	}
	for (; known < value->sum_room; known++)
		value->sums[known] = (struct page_sums){ 0 };
	return &value->sums[function];
}

static void add_clamped(uint64_t *to, uint64_t amount)
{
	if (__builtin_add_overflow(*to, amount, to))
		*to = UINT64_MAX;
}

static bool is_first(struct page_data *data, uint32_t function)
{
	size_t known = data->round_room;

	if (grow_array(data->rounds, data->round_room, (size_t)function + 1)) {
		data->short_of_memory = true;
		return false;
	}
	for (; known < data->round_room; known++)
		data->rounds[known] = 0;
	if (data->rounds[function] == data->round)
		return false;
	data->rounds[function] = data->round;
	return true;
}

static void add_page_amount(struct page_data *data, enum page_key key,
			    const struct page_amount *amount)
{
	struct page_value *value = &data->value[key];
	const struct page_node *node;
	struct page_sums *sums;

	value->known = true;
	if (!amount->amount)
		return;
	if (grow_array(value->amounts, value->room, value->count + 1)) {
		data->short_of_memory = true;
		return;
	}
	value->amounts[value->count++] = *amount;
	add_clamped(&value->sum[amount->side], amount->amount);
	node = page_data_node_at(data, amount->node);
	sums = page_data_sums(data, key, node->function);
	if (sums)
		add_clamped(&sums->self[amount->side], amount->amount);
	/* Each function of the stack counts once. */
	data->round++;
	for (uint32_t at = amount->node + 1; at; at = node->parent) {
		node = page_data_node_at(data, at - 1);
		if (!is_first(data, node->function))
			continue;
		sums = page_data_sums(data, key, node->function);
		if (sums)
			add_clamped(&sums->total[amount->side], amount->amount);
	}
}

/* --- profiles --- */

static const struct pprof_line *find_line(const struct pprof *pprof,
					  const struct pprof_sample *sample)
{
	const struct pprof_location *location;

	if (!sample->depth)
		return NULL;
	location = &pprof->locations[sample->stack[0]];
	return location->line_count && location->lines[0].line
		       ? &location->lines[0]
		       : NULL;
}

static bool is_own_sample(const struct pprof *pprof,
			  const struct pprof_sample *sample)
{
	const struct pprof_location *leaf;

	if (!sample->depth)
		return false;
	leaf = &pprof->locations[sample->stack[0]];
	return leaf->line_count == 1 && !leaf->module[0] &&
	       !strcmp(pprof->functions[leaf->lines[0].function].name,
		       OWN_NAME);
}

static void add_sampled_line(struct page_data *data, const struct pprof *pprof,
			     const struct pprof_sample *sample,
			     enum page_key key, uint64_t amount)
{
	const struct pprof_line *at = find_line(pprof, sample);
	struct page_line item = { 0 };
	struct page_line *line;
	uint32_t number;

	if (!at)
		return;
	item.file = page_data_text(data, pprof->functions[at->function].file);
	item.line = at->line;
	if (!item.file || pool_intern(&data->lines, &item, &number) < 0)
		return;
	line = &((struct page_line *)data->lines.items)[number];
	add_clamped(&line->amount[key], amount);
}

const struct page_file page_files[PAGE_FILES] = {
	{ WALL_PROFILE_NAME,
	  { { "wall", PAGE_WALL }, { "calls", PAGE_CALLS } },
	  false },
	{ CPU_PROFILE_NAME, { { "cpu", PAGE_CPU } }, true },
	{ SPAN_PROFILE_NAME,
	  { { "on_cpu", PAGE_ON_CPU },
	    { "runnable", PAGE_RUNNABLE },
	    { "blocked", PAGE_BLOCKED } },
	  false },
	{ OFFCPU_PROFILE_NAME, { { "blocked", PAGE_WAITED } }, false },
	{ HEAP_PROFILE_NAME,
	  { { "alloc_space", PAGE_ALLOC_SPACE },
	    { "alloc_objects", PAGE_ALLOC_OBJECTS },
	    { "inuse_space", PAGE_INUSE_SPACE },
	    { "inuse_objects", PAGE_INUSE_OBJECTS } },
	  true },
	{ HEAP_PEAK_NAME, { { "inuse_space", PAGE_PEAK_SPACE } }, true },
};

static void take_page_profile(struct page_data *data, const struct pprof *pprof,
			      const struct page_file *file, enum page_side side)
{
	uint32_t column[ARRAY_SIZE(file->types)] = { 0 };
	const struct page_type *type = file->types;
	struct line_functions lines;
	bool fits = line_functions_init(&lines, pprof);

	data->short_of_memory |= !fits;
	for (size_t i = 0; type[i].type; i++) {
		column[i] = pprof_find_type(pprof, type[i].type);
		data->value[type[i].key].known |= column[i] != PPROF_NONE;
	}
	for (size_t k = 0; k < pprof->sample_count && fits; k++) {
		const struct pprof_sample *sample = &pprof->samples[k];
		struct walk walk;

		if (is_own_sample(pprof, sample))
			continue;
		walk = walk_sample(data, &lines, sample);
		for (size_t i = 0; type[i].type && walk.node; i++) {
			struct page_amount amount = { walk.node - 1, walk.leaf,
						      side, 0 };

			if (column[i] == PPROF_NONE ||
			    sample->value[column[i]] <= 0)
				continue;
			amount.amount = (uint64_t)sample->value[column[i]];
			add_page_amount(data, type[i].key, &amount);
			if (file->lines && side == PAGE_SELF)
				add_sampled_line(data, pprof, sample,
						 type[i].key, amount.amount);
		}
	}
	line_functions_release(&lines);
}

int page_data_take_profiles(struct page_data *data, const char *dir,
			    enum page_side side, bool estimated)
{
	for (size_t i = 0; i < PAGE_FILES; i++) {
		struct pprof *pprof;
		int err = pprof_read(dir, page_files[i].name, &pprof);

		if (err == -ENOENT)
			continue;
		if (err)
			return err;
		take_page_profile(data, pprof, &page_files[i], side);
		pprof_free(&pprof);
	}
	data->value[PAGE_CPU].estimated = true;
	for (int key = PAGE_ALLOC_SPACE; key < PAGE_KEYS; key++)
		data->value[key].estimated |= estimated;
	return 0;
}

static uint32_t summed_function(struct page_data *data,
				const struct summary_function *from)
{
	return page_data_function(data, page_data_text(data, from->name),
				  find_module(data, from->module));
}

static void add_summed(struct page_data *data, enum page_key key,
		       uint32_t function, enum page_side side, uint64_t self,
		       uint64_t total)
{
	struct page_sums *sums = page_data_sums(data, key, function);

	if (!sums)
		return;
	add_clamped(&sums->self[side], self);
	add_clamped(&sums->total[side], total);
}

/* Values with sums in the summary. */
static const enum page_key summed_keys[] = { PAGE_WALL, PAGE_CALLS, PAGE_ON_CPU,
					     PAGE_RUNNABLE, PAGE_BLOCKED };

void page_data_take_summary(struct page_data *data,
			    const struct summary *summary, enum page_side side)
{
	if (summary_time_is_sampled(summary)) {
		data->sampled = true;
		for (size_t k = 0; k < ARRAY_SIZE(summed_keys); k++)
			data->value[summed_keys[k]].estimated |=
				summed_keys[k] != PAGE_CALLS;
	}
	for (size_t i = 0; i < summary->function_count; i++) {
		uint32_t function =
			summed_function(data, &summary->functions[i]);

		/* Sampled times come from the profiles, which have inlined
		 * functions; the summary adds these to their callers. */
		for (size_t k = 0; k < ARRAY_SIZE(summed_keys); k++) {
			struct page_sums *sums =
				page_data_sums(data, summed_keys[k], function);

			if (sums &&
			    (!data->sampled || summed_keys[k] == PAGE_CALLS))
				sums->self[side] = sums->total[side] = 0;
		}
	}
	/* Several functions may become one if modules have names only. */
	for (size_t i = 0; i < summary->function_count; i++) {
		const struct summary_function *from = &summary->functions[i];
		uint32_t function = summed_function(data, from);

		if (!function)
			continue;
		add_summed(data, PAGE_CALLS, function, side, from->calls,
			   from->calls);
		if (!data->sampled) {
			add_summed(data, PAGE_WALL, function, side,
				   from->self_ns, from->total_ns);
			add_summed(data, PAGE_ON_CPU, function, side,
				   from->on_cpu_self_ns, from->on_cpu_ns);
			add_summed(data, PAGE_RUNNABLE, function, side,
				   from->runnable_self_ns, from->runnable_ns);
			add_summed(data, PAGE_BLOCKED, function, side,
				   from->blocked_self_ns, from->blocked_ns);
		}
		if (side == PAGE_SELF) {
			struct page_function *to =
				(struct page_function *)data->functions.items +
				function;

			to->single = to->recorded ? NULL : from;
			to->recorded += from->recorded;
			if (summary->knows_temporary)
				to->temporary += from->temporary_objects;
		}
	}
}

static bool is_value_empty(const struct page_value *value)
{
	for (size_t i = 0; i < value->sum_room; i++)
		for (int side = 0; side < PAGE_SIDES; side++)
			if (value->sums[i].self[side] ||
			    value->sums[i].total[side])
				return false;
	return true;
}

void page_data_drop_empty(struct page_data *data)
{
	for (int key = PAGE_WALL; key <= PAGE_WAITED; key++)
		if (key != PAGE_CPU && is_value_empty(&data->value[key]))
			data->value[key].known = false;
}

/* --- pages without wall.pb.gz --- */

/* Sums of the nodes of the trace, by number. */
struct call_sums {
	struct time_cell *cells; /* sums of its cells */
	uint32_t *nodes; /* stack in the page + 1, or 0 */
	bool *shown; /* the node or a callee has values */
};

/* Adds the stack of node @leaf of the trace. Returns its number + 1. Callers
 * must be added first. */
static uint32_t take_call_node(struct page_data *data, uint32_t leaf,
			       const uint32_t *nodes)
{
	const struct call_node *node = call_tree_node(&data->calls->tree, leaf);
	struct walk walk = { .node = nodes[node->parent] };
	uint32_t text = data->shown_texts ? data->shown_texts[node->name] : 0;

	if (!text)
		text = page_data_text(data, "[unknown]");
	if (!walk_in(data, &walk, page_data_function(data, text, 0)))
		return 0;
	return walk.node;
}

/* Adds the sums of the stacks to the values. Waits for the collector have no
 * stack here. */
static void take_call_sums(struct page_data *data, const struct call_sums *sums,
			   bool part, uint64_t sample_ns)
{
	for (uint32_t leaf = 1; leaf < data->calls->tree.nodes.count; leaf++) {
		const struct time_cell *cell = &sums->cells[leaf];
		uint32_t node = sums->nodes[leaf];
		struct page_amount amount = { node - 1, leaf, PAGE_SELF,
					      cell->ns };

		if (!node)
			continue;
		add_page_amount(data, PAGE_WALL, &amount);
		amount.amount = cell->calls;
		add_page_amount(data, PAGE_CALLS, &amount);
		if (part) {
			uint32_t number =
				page_data_node_at(data, node - 1)->function;

			/* In a part, all calls have times. */
			((struct page_function *)data->functions.items)[number]
				.recorded += amount.amount;
		}
		amount.amount = cell->samples * sample_ns;
		if (sample_ns)
			add_page_amount(data, PAGE_CPU, &amount);
	}
}

static void take_trace(struct page_data *data, bool part, uint64_t sample_ns)
{
	uint32_t count = data->calls->tree.nodes.count;
	struct call_sums sums = {
		.cells = calloc(count, sizeof(*sums.cells)),
		.nodes = calloc(count, sizeof(*sums.nodes)),
		.shown = calloc(count, sizeof(*sums.shown)),
	};
	bool fits = sums.cells && sums.nodes && sums.shown;

	if (fits) {
		for (uint32_t i = 0; i < data->calls->cells.count; i++) {
			const struct time_cell *cell =
				&data->calls->cells.cells[i];
			struct time_cell *sum =
				&sums.cells[time_cells_node(cell)];

			sum->ns += cell->ns;
			sum->calls += cell->calls;
			sum->samples += cell->samples;
		}
	}
	for (uint32_t i = count; fits && i-- > 1;) {
		const struct time_cell *cell = &sums.cells[i];

		sums.shown[i] |=
			cell->calls || cell->ns || (sample_ns && cell->samples);
		sums.shown[call_tree_node(&data->calls->tree, i)->parent] |=
			sums.shown[i];
	}
	for (uint32_t i = 1; i < count && fits; i++)
		if (sums.shown[i] && !calls_is_wait(data->calls, i))
			sums.nodes[i] = take_call_node(data, i, sums.nodes);
	if (fits)
		take_call_sums(data, &sums, part, sample_ns);
	data->short_of_memory |= !fits;
	free(sums.cells);
	free(sums.nodes);
	free(sums.shown);
}

void page_data_take_calls(struct page_data *data)
{
	take_trace(data, false, 0);
}

void page_data_take_part(struct page_data *data, uint64_t sample_ns)
{
	data->value[PAGE_WALL].known = data->value[PAGE_CALLS].known = true;
	data->value[PAGE_CPU].estimated = true;
	take_trace(data, true, sample_ns);
}
