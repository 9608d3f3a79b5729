/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate_run - events with arguments. The caller's scalars already have the
 * ring's form, so the shim only adds the word in front and the event behind. An
 * event with a text or a special key (PERFREC_NAME and others) is built in
 * other memory: on the stack if it is small, else in pages mapped for it,
 * because the stack may be tiny.
 *
 * The program may change a text while it is copied. The shim cuts a text that
 * has no room, and writes the length that it copied.
 */
#include "preload/annotate/annotate_run.h"

#include <string.h>
#include <sys/mman.h>

#include "preload/core/gate.h"
#include "preload/core/sys.h"
#include "preload/core/thread.h"
#include "preload/core/thread_context.h"
#include "shared/atomic.h"
#include "shared/record_ext.h"

#define STACK_CELLS 32
#define FLOWS_MAX 8
#define CELL sizeof(struct record)
#define REQUEST_CELLS (1 + (sizeof(struct trace_ids) + CELL - 1) / CELL)

/* perfrec.h: types as enum note_type has them, and one more. */
#define TYPE(arg) ((arg)->type & 0xff)
#define TYPE_PAIRS 7
#define LENGTH(arg) ((arg)->type >> 8)
#define LENGTH_UNKNOWN (UINT64_MAX >> 8)

_Static_assert(sizeof(struct perfrec_arg) == CELL, "an argument is a cell");

/* The special keys of an event. */
struct extras {
	const struct perfrec_arg *name; /* NULL: none */
	const struct perfrec_arg *correlation, *at;
	uint64_t flow[FLOWS_MAX][2]; /* id, 1: it ends */
	uint32_t flows;
	uint32_t args; /* values with keys */
	uint32_t cut; /* flows and values that were too many */
};

struct build {
	struct record *cells;
	uint32_t used, room;
	uint32_t text_max; /* bytes kept of each text */
	uint32_t args, args_max;
};

/* --- texts --------------------------------------------------------------- */

static const char *text_of(const struct perfrec_arg *arg)
{
	return (const char *)(uintptr_t)arg->value;
}

static uint64_t length_of(const struct perfrec_arg *arg)
{
	if (TYPE(arg) != NOTE_STRING || !arg->value)
		return 0;
	return LENGTH(arg) == LENGTH_UNKNOWN ? strlen(text_of(arg))
					     : LENGTH(arg);
}

static uint32_t cells_for(uint64_t bytes)
{
	return (uint32_t)((bytes + CELL - 1) / CELL);
}

static const char *key_or_question(const char *key)
{
	return key && key[0] ? key : "?";
}

/* --- parts of an event --------------------------------------------------- */

static void take_flow(struct extras *extras, uint64_t id, bool ends)
{
	if (extras->flows == FLOWS_MAX) {
		extras->cut++;
		return;
	}
	extras->flow[extras->flows][0] = id;
	extras->flow[extras->flows++][1] = ends;
}

/* True when @key is a special one: then @arg is noted in @extras. */
static bool take_special(struct extras *extras, const char *key,
			 const struct perfrec_arg *arg)
{
	if (!key || key[0] != PERFREC_NAME[0])
		return false;
	switch (key[1]) {
	case 'n':
		if (TYPE(arg) == NOTE_STRING)
			extras->name = arg;
		break;
	case 'f':
	case 'e':
		take_flow(extras, arg->value, key[1] == 'e');
		break;
	case 'c':
		extras->correlation = arg;
		break;
	case 't':
		extras->at = arg;
		break;
	default: /* pairs are looked at by their type */
		break;
	}
	return true;
}

typedef void take_pair(void *context, const char *key,
		       const struct perfrec_arg *arg, bool key_text);

static void each_of_pairs(const struct perfrec_arg *pairs, take_pair *take,
			  void *context)
{
	const struct perfrec_pair *pair =
		(const struct perfrec_pair *)(uintptr_t)pairs->value;

	for (uint64_t i = 0; pair && i < LENGTH(pairs); i++)
		if (TYPE(&pair[i].arg) != TYPE_PAIRS)
			take(context, pair[i].key, &pair[i].arg, true);
}

/* Values whose keys the site has come first: they are known by their place. */
static void each_pair(const struct note *note, take_pair *take, void *context)
{
	for (size_t i = 0; i < note->count; i++)
		if (TYPE(&note->args[i + 1]) != TYPE_PAIRS)
			take(context, note->keys[i], &note->args[i + 1],
			     note->key_texts);
	for (size_t i = 0; i < note->count; i++)
		if (TYPE(&note->args[i + 1]) == TYPE_PAIRS)
			each_of_pairs(&note->args[i + 1], take, context);
}

static void note_extra(void *context, const char *key,
		       const struct perfrec_arg *arg, bool key_text)
{
	struct extras *extras = context;

	(void)key_text;
	if (take_special(extras, key, arg))
		return;
	if (extras->args == NOTE_ARGS_MAX)
		extras->cut++;
	else
		extras->args++;
}

/* --- how long it is ------------------------------------------------------ */

static void add_length(void *context, const char *key,
		       const struct perfrec_arg *arg, bool key_text)
{
	struct build *build = context;
	struct extras none = { 0 };

	if (build->args == build->args_max || take_special(&none, key, arg))
		return;
	build->args++;
	build->used++;
	if (key_text)
		build->used +=
			cells_for(strnlen(key_or_question(key), NOTE_KEY_MAX));
	build->used += cells_for(MIN(length_of(arg), build->text_max));
}

static uint32_t cells_of_note(const struct note *note,
			      const struct extras *extras, uint32_t text_max,
			      uint32_t args_max)
{
	struct build build = { .text_max = text_max, .args_max = args_max };

	each_pair(note, add_length, &build);
	build.used += build.args > 0;
	if (extras->name)
		build.used +=
			1 + cells_for(MIN(length_of(extras->name), text_max));
	if (extras->flows)
		build.used += 1 + extras->flows;
	build.used += extras->correlation ? 2 : 0;
	build.used += extras->at ? 2 : 0;
	build.used += note->request ? REQUEST_CELLS : 0;
	return build.used + note->cells;
}

/* --- writing it ---------------------------------------------------------- */

/* The next @cells cells; NULL when a text that grew has taken their room. */
static struct record *add_cells(struct build *build, uint32_t cells)
{
	struct record *at = &build->cells[build->used];

	if (cells > build->room - build->used)
		return NULL;
	build->used += cells;
	return at;
}

/* Adds the part of @text, of @bytes, that has room. Returns its length. */
static uint32_t add_text(struct build *build, const char *text, uint64_t bytes)
{
	uint64_t room = (uint64_t)(build->room - build->used) * CELL;
	uint32_t kept = (uint32_t)MIN(bytes, room), cells = cells_for(kept);
	struct record *at = add_cells(build, cells);

	if (!kept)
		return 0;
	at[cells - 1] = (struct record){ 0, 0 };
	memcpy(at, text, kept);
	return kept;
}

static void add_prefix(struct build *build, enum record_ext ext, uint64_t value)
{
	struct record *at = add_cells(build, 2);

	if (!at)
		return;
	at[0] = (struct record){ record_ext_word(ext, 1, 0, 0), 0 };
	at[1] = (struct record){ value, 0 };
}

static void add_request(struct build *build, const struct trace_ids *ids)
{
	struct record *at = add_cells(build, REQUEST_CELLS);

	if (!at)
		return;
	memset(at, 0, REQUEST_CELLS * CELL);
	at[0].word = record_ext_word(EXT_REQUEST, REQUEST_CELLS - 1, 0, 0);
	memcpy(&at[1], ids, sizeof(*ids));
}

static void add_name(struct build *build, const struct perfrec_arg *name)
{
	uint64_t bytes = MIN(length_of(name), build->text_max);
	struct record *head = add_cells(build, 1);
	uint32_t kept;

	if (!head)
		return;
	kept = add_text(build, text_of(name), bytes);
	*head = (struct record){
		record_ext_word(EXT_NAME, cells_for(kept), kept, 0), 0
	};
}

static void add_flows(struct build *build, const struct extras *extras)
{
	struct record *at = add_cells(build, 1 + extras->flows);

	if (!at)
		return;
	at[0] = (struct record){
		record_ext_word(EXT_FLOWS, extras->flows, extras->flows, 0), 0
	};
	memcpy(at + 1, extras->flow, extras->flows * sizeof(extras->flow[0]));
}

static void add_arg(void *context, const char *key,
		    const struct perfrec_arg *arg, bool key_text)
{
	struct build *build = context;
	struct extras none = { 0 };
	struct note_arg out = { .type = (uint8_t)TYPE(arg),
				.value = arg->value };
	struct record *head;

	if (build->args == build->args_max || take_special(&none, key, arg))
		return;
	head = add_cells(build, 1);
	if (!head)
		return;
	build->args++;
	if (key_text) {
		key = key_or_question(key);
		out.key_bytes = (uint16_t)add_text(build, key,
						   strnlen(key, NOTE_KEY_MAX));
	}
	if (out.type == NOTE_STRING) {
		out.value = length_of(arg);
		out.text_bytes = add_text(build, text_of(arg),
					  MIN(out.value, build->text_max));
		out.cut = out.text_bytes < out.value;
	}
	memcpy(head, &out, sizeof(out));
}

static void add_args(struct build *build, const struct note *note)
{
	struct record *head = add_cells(build, 1);
	uint32_t before = build->used;

	if (!head)
		return;
	each_pair(note, add_arg, build);
	*head = (struct record){ record_ext_word(EXT_ARGS, build->used - before,
						 build->args, 0),
				 0 };
}

static void write_note(struct build *build, const struct note *note,
		       const struct extras *extras)
{
	struct record *event;

	/* Keep room for the event itself. */
	build->room -= note->cells;
	if (extras->name)
		add_name(build, extras->name);
	if (extras->flows)
		add_flows(build, extras);
	if (extras->correlation)
		add_prefix(build, EXT_CORRELATION, extras->correlation->value);
	if (extras->at)
		add_prefix(build, EXT_AT, extras->at->value);
	if (note->request)
		add_request(build, note->request);
	if (extras->args)
		add_args(build, note);
	build->room += note->cells;
	event = add_cells(build, note->cells);
	memcpy(event, note->event, note->cells * CELL);
	put_run(build->cells, build->used, (uint32_t)(event - build->cells),
		note->class, note->sp);
}

/* Shorten texts, then leave values out, until the note is a run that a ring
 * takes. Returns its cells. */
static uint32_t fit_note(const struct note *note, struct extras *extras,
			 struct build *build)
{
	uint32_t most = record_run_max(g_shim.ring_cells), cells;

	build->text_max = NOTE_STRING_MAX;
	build->args_max = extras->args;
	while ((cells = cells_of_note(note, extras, build->text_max,
				      build->args_max)) > most &&
	       (build->text_max || build->args_max)) {
		if (build->text_max)
			build->text_max /= 2;
		else
			build->args_max /= 2;
	}
	extras->cut += extras->args - build->args_max;
	return cells;
}

static ATTR_NOINLINE void write_on_stack(struct build *build,
					 const struct note *note,
					 const struct extras *extras)
{
	struct record cells[STACK_CELLS];

	build->cells = cells;
	build->room = STACK_CELLS;
	write_note(build, note, extras);
	build->cells = NULL;
}

/* Put the event alone, as there is no memory for texts. */
static void write_bare(struct build *build, const struct note *note,
		       struct extras *extras)
{
	const struct extras bare = { 0 };

	extras->cut += extras->args + extras->flows;
	write_on_stack(build, note, &bare);
}

static ATTR_NOINLINE void write_in_pages(struct build *build, uint32_t cells,
					 const struct note *note,
					 struct extras *extras)
{
	long address = sys(SYS_mmap, 0, cells * CELL, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (sys_failed(address)) {
		write_bare(build, note, extras);
		return;
	}
	build->cells = (struct record *)address;
	build->room = cells;
	write_note(build, note, extras);
	sys(SYS_munmap, address, cells * CELL);
}

/* Counts the omitted parts of an event. */
static void count_cut(uint32_t cut)
{
	if (cut && t_thread.slot)
		/* relaxed: a count */
		atom_add_rlx(&t_thread.slot->dropped_notes, cut);
}

static ATTR_NOINLINE void put_texts(struct note *note)
{
	struct extras extras = { 0 };
	struct build build = { 0 };
	uint32_t cells;

	each_pair(note, note_extra, &extras);
	cells = fit_note(note, &extras, &build);
	if (cells <= STACK_CELLS)
		write_on_stack(&build, note, &extras);
	else if (g_shim.no_syscalls)
		write_bare(&build, note, &extras);
	else
		write_in_pages(&build, cells, note, &extras);
	count_cut(extras.cut);
}

static bool all_scalars(const struct note *note)
{
	bool scalars = true;

	for (size_t i = 1; i <= note->count; i++)
		scalars &= note->args[i].type < NOTE_STRING;
	return scalars;
}

void note_put(struct note *note)
{
	struct record *cells = (struct record *)note->args;
	uint32_t count = (uint32_t)note->count;
	struct trace_ids ids;

	/* An END has the request of its BEGIN. */
	note->request = (note->class == PUT_BEGIN || note->class == PUT_NOTE) &&
					thread_context_read(&ids)
				? &ids
				: NULL;
	if (!count && !note->request) {
		put_run(note->event, note->cells, 0, note->class, note->sp);
		return;
	}
	if (note->request || note->special || note->key_texts ||
	    !all_scalars(note)) {
		put_texts(note);
		return;
	}
	cells[0].word = record_ext_word(EXT_ARGS, count, count, 0);
	cells[count + 1] = note->event[0];
	cells[count + 2] = note->event[1];
	put_run(cells, count + 1 + note->cells, count + 1, note->class,
		note->sp);
}
