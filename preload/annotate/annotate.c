/* SPDX-License-Identifier: Apache-2.0
 *
 * annotate - the functions of perfrec.h for slices of a thread.
 *
 * At a site, the program compares the site's own state with the word that
 * perfrec_shim_1.state points to. While recording is on, this word is the
 * collector's count of changes of the categories, in the arena; otherwise it is
 * one of the words below. If the two differ, the shim decides the site again.
 * So a change takes effect at once in all threads and children, and each site
 * is decided once for each change.
 *
 * A slice is a plain BEGIN and END whose function is the site's id. Rings and
 * replay treat it as a call.
 */
#include "preload/annotate/annotate.h"

#include "preload/alloc/interpose_alloc.h"
#include "preload/annotate/annotate_inner.h"
#include "preload/annotate/annotate_run.h"
#include "preload/annotate/sites.h"
#include "preload/annotate/sites_wanted.h"
#include "preload/core/gate.h"
#include "preload/core/thread.h"
#include "preload/ring/put.h"
#include "preload/ring/put_run.h"
#include "shared/atomic.h"
#include "shared/compiler.h"
#include "shared/record_ext.h"

/* The word until a thread first tries to start recording. */
static const uint32_t g_may_start = SITES_MAY_START;
/* The word when recording is off. */
static const uint32_t g_off = SITES_ARE_OFF;
/* The word when the program has paused it. */
static const uint32_t g_paused = SITES_ARE_PAUSED;

/* The stack pointer that a hook would have at this call. */
#if defined(__x86_64__)
#define CALL_SP ((uintptr_t)__builtin_dwarf_cfa() - 8)
#else
#define CALL_SP ((uintptr_t)__builtin_dwarf_cfa())
#endif

/* The bits of a struct perfrec_span: stack pointer and site's id. Never 0, as
 * no stack lies at 0. */
#define SPAN_ID_BITS 16

static uint64_t span_bits(uint64_t id, uintptr_t sp)
{
	return (uint64_t)sp << SPAN_ID_BITS | id;
}

static uint64_t span_id(uint64_t span)
{
	return span & (SITES_MAX - 1);
}

static uintptr_t span_sp(uint64_t span)
{
	return (uintptr_t)(span >> SPAN_ID_BITS);
}

/* --- whether ------------------------------------------------------------- */

/* Whether @site is off in a pause. A track must tell its number, and a heap its
 * frees. A site without an id has not been called yet: it may be an end. */
static bool is_off_in_pause(const struct perfrec_site *site)
{
	/* relaxed, both: SITE_ENDS comes with a state to decide anew */
	return atom_load_rlx(&site->id) &&
	       !(atom_load_rlx(&site->flags) & SITE_ENDS) &&
	       site->kind != SITE_TRACK && site->kind != SITE_HEAP;
}

/* The site's state is not the shim's: decide whether the site is recorded. The
 * site remembers it. While the collector is writing the list, the last decision
 * holds. */
static int decide_site(struct perfrec_site *site)
{
	uint64_t gate = gate_look();
	const char *category = site->category ? site->category : "";
	uint32_t changes;
	bool wanted;

	if (!gate || t_thread.in_vfork)
		return 0;
	if (gate & GATE_OFF) {
		/* relaxed: the word orders no other memory */
		atom_store_rlx(&site->state, SITE_UNDECIDED);
		return 0;
	}
	if (!sites_wanted(category, &wanted, &changes))
		return site->id && !(site->state & SITE_OFF);
	/* After the list: whoever pauses does so before its count changes. */
	if (wanted && put_is_paused()) {
		if (!atom_load_rlx(&site->id)) {
			sites_register(site);
			return 1;
		}
		wanted = !is_off_in_pause(site);
		/* relaxed: the word follows it */
		if (atom_load_rlx(&g_shim.paused))
			changes = SITES_ARE_PAUSED;
	} else if (wanted) {
		sites_register(site);
	}
	/* order: rel, SITE: the id comes before the state that admits it */
	atom_store_rel(&site->state, wanted ? changes : changes | SITE_OFF);
	return wanted;
}

/* --- slices of a thread -------------------------------------------------- */

static ATTR_COLD void put_slowly(uint64_t word, enum put_class class,
				 uintptr_t sp)
{
	struct record cell = { word, 0 };

	put_run(&cell, 1, 0, class, sp);
}

static uint64_t begin_slice(uint64_t id)
{
	uintptr_t sp = CALL_SP;
	uint64_t word = record_word(RECORD_BEGIN, id, sp);

	if (unlikely(!put_cell(word, T_LIMIT_BEGIN)))
		put_slowly(word, PUT_BEGIN, sp);
	return span_bits(id, sp);
}

/* The END has the sp hint of its BEGIN: by that it is found even if a callee
 * ends it.
 */
static void end_slice(uint64_t span)
{
	uint64_t word = record_word(RECORD_END, span_id(span), span_sp(span));

	if (unlikely(!put_cell(word, T_LIMIT_END)))
		put_slowly(word, PUT_END, CALL_SP);
}

static uint64_t begin_slice_args(struct perfrec_site *site,
				 struct perfrec_arg *args, size_t count)
{
	uintptr_t sp = CALL_SP;
	struct note note = {
		.args = args,
		.keys = site->keys,
		.count = count,
		.special = site->special,
		.event = { { record_word(RECORD_BEGIN, site->id, sp), 0 } },
		.cells = 1,
		.class = PUT_BEGIN,
		.sp = sp,
	};

	note_put(&note);
	return span_bits(site->id, sp);
}

static void end_slice_args(uint64_t span, const char *const *keys,
			   struct perfrec_arg *args, size_t count)
{
	struct note note = {
		.args = args,
		.keys = keys,
		.count = count,
		.special = true,
		.key_texts = true,
		.event = { { record_word(RECORD_END, span_id(span),
					 span_sp(span)),
			     0 } },
		.cells = 1,
		.class = PUT_END,
		.sp = CALL_SP,
	};

	note_put(&note);
}

/* --- heaps --------------------------------------------------------------- */

/* Both are tail calls: alloc_report() copies its caller's stack. */
static void report_block(struct perfrec_heap *heap, const void *block,
			 size_t bytes)
{
	alloc_report(heap->site.id, block, bytes);
}

static void report_free(struct perfrec_heap *heap, const void *block)
{
	alloc_report_free(heap->site.id, block);
}

/* --- the object ---------------------------------------------------------- */

ATTR_EXPORT struct perfrec_shim_1 perfrec_shim_1 = {
	.state = &g_may_start,
	.bytes = sizeof(perfrec_shim_1),
	.decide = decide_site,
	.begin = begin_slice,
	.end = end_slice,
	.begin_args = begin_slice_args,
	.end_args = end_slice_args,
	.instant = note_instant,
	.mark = note_mark,
	.count = note_count,
	.async_begin = note_async_begin,
	.async_end = note_async_end,
	.async_instant = note_async_instant,
	.state_set = note_state,
	.track = note_track_number,
	.track_new = note_track_new,
	.heap_alloc = report_block,
	.heap_free = report_free,
	.is_recording = note_is_recording,
	.pause = note_pause,
	.flush = note_flush,
	.name_thread = note_name_thread,
	.local_id = note_local_id,
	.async_enter = note_async_enter,
	.async_leave = note_async_leave,
	.trace_id = note_trace_id,
	.traceparent = note_traceparent,
};

static void set_state(const uint32_t *state)
{
	/* relaxed: a pointer to a word that is always there */
	atom_store_rlx(&perfrec_shim_1.state, state);
}

void annotate_start(void)
{
	set_state(sites_changes());
}

void annotate_follow_pause(void)
{
	uint32_t paused;

	do {
		/* order: sc, SITEPAUSE: the last change has the last word */
		paused = atom_load_sc(&g_shim.paused);
		(void)atom_cas_sc(&perfrec_shim_1.state,
				  paused ? sites_changes() : &g_paused,
				  paused ? &g_paused : sites_changes());
		/* order: sc, SITEPAUSE: as above */
	} while (atom_load_sc(&g_shim.paused) != paused);
}

void annotate_off(void)
{
	set_state(&g_off);
}
