/* SPDX-License-Identifier: Apache-2.0
 *
 * tracks - the uuid of a track is a hash of the uuid of its scope (the process,
 * or a thread) and of its name or number there. So each user of a track can
 * compute its uuid, described or not; two processes never share a uuid; and one
 * table by uuid is enough.
 *
 *   number, of EXT_TRACK          one for the process
 *   number, of a SITE_TRACK       one for the process; or for each thread, if
 *                                 it or a track above it is the thread's
 *   number, unknown               as the first; "track N" if it stays so
 *   TRACK_PROCESS and the like    one for each name of a slice
 *   a counter                     one for the process or each thread
 *
 * A track that would be below itself, or too deep, is put below the process.
 *
 * Descriptors go to sequence 1. In the file they come before all packets
 * submitted later, so before the events of a track that was described before
 * its events.
 */
#include "collector/record/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/budget.h"
#include "collector/base/lock.h"
#include "collector/base/pool.h"
#include "collector/names/sites.h"
#include "collector/trace/out_track.h"
#include "collector/trace/trace_file.h"
#include "shared/atomic.h"
#include "shared/hash.h"

#define DEPTH_MAX 32
#define TEXT_BYTES 1024 /* of a name or description given at run time */

/* Part of the hash of a track's uuid, so that two sorts of tracks differ. */
enum sort {
	SORT_NUMBER = 1,
	SORT_NAMED_PROCESS,
	SORT_NAMED_GLOBAL,
	SORT_NAMED_THREAD,
	SORT_COUNTER,
	SORT_LANE,
	SORT_MARKS,
	SORT_OVERFLOW,
};

struct track {
	uint64_t uuid; /* 0: free */
	uint64_t parent; /* uuid; 0: none */
	uint64_t number;
	uint64_t above; /* number of its parent, if made at run time */
	bool of_thread; /* one per thread */
	bool told; /* described by EXT_TRACK or a site, or by us */
	bool used; /* used before it was described; sets kind */
	uint8_t order, merge, kind;
	int32_t rank;
	bool ranked;
	char *own_name; /* if made at run time */
	const char *name, *description;
};

struct tracks {
	uint32_t refs;
	uint64_t process;
	struct tracks *parent; /* a reference, or NULL */
	struct sites *sites;
	struct trace_file *trace;
	struct budget *budget;
	struct lock lock; /* guards all below; before that of parent */
	struct pool table; /* struct track_entry */
	bool has_overflow; /* its description is written */
	struct tracks_counts counts;
};

static uint64_t mix_uuid(uint64_t x)
{
	/* The finaliser of MurmurHash3, a bijection of 64 bits. */
	x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
	x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

static uint64_t make_uuid(uint64_t scope, enum sort sort, uint64_t what)
{
	uint64_t uuid = mix_uuid(mix_uuid(scope + sort) ^ mix_uuid(what));

	return uuid ? uuid : 1;
}

/* --- the table ----------------------------------------------------------- */

struct track_entry {
	uint64_t uuid;

	struct track *track;
};

static struct track *track_at(const struct tracks *tracks, uint32_t number)
{
	return ((struct track_entry *)tracks->table.items)[number].track;
}

static struct track *find_track(const struct tracks *tracks, uint64_t uuid)
{
	const struct track_entry entry = { .uuid = uuid };
	uint32_t number;

	return pool_find(&tracks->table, &entry, &number)
		       ? track_at(tracks, number)
		       : NULL;
}

static struct track *add_track(struct tracks *tracks, uint64_t uuid)
{
	struct track_entry entry = { .uuid = uuid };
	uint32_t number;

	if (tracks->table.count == TRACKS_MAX ||
	    !budget_take(tracks->budget, sizeof(*entry.track)))
		return NULL;
	entry.track = calloc(1, sizeof(*entry.track));
	if (!entry.track || pool_intern(&tracks->table, &entry, &number) < 0) {
		free(entry.track);
		budget_give(tracks->budget, sizeof(*entry.track));
		return NULL;
	}
	entry.track->uuid = uuid;
	entry.track->name = entry.track->description = "";
	return entry.track;
}

/* --- descriptors --------------------------------------------------------- */

static void describe_named_track(struct tracks *tracks,
				 const struct track *track, uint64_t uuid)
{
	char number[40];
	const struct out_track out = {
		.uuid = uuid,
		.parent = track->parent,
		.name = track->name[0] ? track->name : number,
		.description = track->description,
		.order = (enum track_order)track->order,
		.ranked = track->ranked,
		.rank = track->rank,
		/* Merged only with its own lanes. */
		.merge_key = track->merge == MERGE_NONE ? track->uuid : 0,
		.states = track->kind == TRACK_STATES,
	};
	uint8_t packet[OUT_TRACK_BYTES];

	snprintf(number, sizeof(number), "track %llu",
		 (unsigned long long)track->number);
	trace_file_append(tracks->trace, 1, packet,
			  out_track_track(packet, sizeof(packet), &out));
}

/* Returns the shared track for events whose own track found no room. */
static uint64_t overflow_track(struct tracks *tracks, enum track_kind kind)
{
	const struct track track = { .parent = tracks->process,
				     .name = "other tracks",
				     .description = "" };
	uint64_t uuid = make_uuid(tracks->process, SORT_OVERFLOW, 0);

	tracks->counts.overflowed++;
	if (kind == TRACK_STATES)
		return 0;
	if (!tracks->has_overflow)
		describe_named_track(tracks, &track, uuid);
	tracks->has_overflow = true;
	return uuid;
}

/* --- by number ----------------------------------------------------------- */

static bool is_below(const struct tracks *tracks, uint64_t uuid, uint64_t above)
{
	const struct track *track;

	for (int depth = 0; depth < DEPTH_MAX && uuid; depth++) {
		if (uuid == above)
			return true;
		track = find_track(tracks, uuid);
		uuid = track ? track->parent : 0;
	}
	return uuid != 0;
}

static struct track *resolve_track(struct tracks *tracks, uint64_t thread,
				   uint64_t number, int depth);

/* Returns the uuid of the parent track @number. Sets *@of_thread if it is a
 * thread or a track of a thread. */
static uint64_t resolve_parent(struct tracks *tracks, uint64_t thread,
			       uint64_t number, int depth, bool *of_thread)
{
	struct track *track;

	*of_thread = number == TRACK_THREAD;
	if (number == TRACK_THREAD)
		return thread;
	if (number == TRACK_GLOBAL)
		return 0;
	if (number == TRACK_PROCESS)
		return tracks->process;
	track = depth < DEPTH_MAX
			? resolve_track(tracks, thread, number, depth + 1)
			: NULL;
	if (!track) {
		tracks->counts.odd_tracks++;
		return tracks->process;
	}
	*of_thread = track->of_thread;
	return track->uuid;
}

static void copy_track_texts(struct tracks *tracks, struct track *track,
			     const char *name, const char *description)
{
	size_t name_bytes = strnlen(name, TEXT_BYTES);
	size_t description_bytes = strnlen(description, TEXT_BYTES);
	size_t bytes = name_bytes + description_bytes + 2;
	char *texts;

	if (!budget_take(tracks->budget, bytes))
		return;
	texts = calloc(1, bytes);
	if (!texts) {
		budget_give(tracks->budget, bytes);
		return;
	}
	memcpy(texts, name, name_bytes);
	memcpy(texts + name_bytes + 1, description, description_bytes);
	track->own_name = texts;
	track->name = texts;
	track->description = texts + name_bytes + 1;
}

/* Copies the description of @track from the parent process. Returns false if
 * the parent has none. */
static bool inherit_track(struct tracks *tracks, struct track *track)
{
	struct tracks *from = tracks->parent;
	const struct track *there;
	bool found = false;

	if (!from)
		return false;
	/* A parent never locks its children, so this cannot deadlock. */
	lock_acquire_chained(&from->lock);
	there = find_track(
		from, make_uuid(from->process, SORT_NUMBER, track->number));
	if (there && there->told) {
		found = true;
		track->order = there->order;
		track->merge = there->merge;
		track->kind = there->kind;
		track->rank = there->rank;
		track->ranked = there->ranked;
		/* The thread above it belongs to the parent process. */
		track->above = there->above == TRACK_THREAD ? TRACK_PROCESS
							    : there->above;
		copy_track_texts(tracks, track, there->name,
				 there->description);
	}
	lock_release(&from->lock);
	return found;
}

static struct track *resolve_track_site(struct tracks *tracks, uint64_t thread,
					const struct site *site, int depth)
{
	bool of_thread;
	uint64_t parent =
		resolve_parent(tracks, thread, site->parent, depth, &of_thread);
	uint64_t uuid = make_uuid(of_thread ? thread : tracks->process,
				  SORT_NUMBER, site->track);
	struct track *track = find_track(tracks, uuid);

	if (track && track->told)
		return track;
	if (!track)
		track = add_track(tracks, uuid);
	if (!track)
		return NULL;
	track->number = site->track;
	track->told = true;
	track->of_thread = of_thread;
	track->parent = parent;
	track->order = (uint8_t)site->order;
	track->merge = (uint8_t)site->merge;
	track->kind = (uint8_t)site->track_kind;
	track->rank = site->rank;
	track->ranked = site->rank != 0;
	track->name = site->name;
	track->description = site->description;
	describe_named_track(tracks, track, uuid);
	return track;
}

static struct track *resolve_track(struct tracks *tracks, uint64_t thread,
				   uint64_t number, int depth)
{
	uint64_t uuid = make_uuid(tracks->process, SORT_NUMBER, number);
	struct track *track = find_track(tracks, uuid);
	const struct site *site;
	bool of_thread;

	if (track)
		return track;
	site = sites_track(tracks->sites, number);
	if (site)
		return resolve_track_site(tracks, thread, site, depth);
	track = add_track(tracks, uuid);
	if (!track)
		return NULL;
	track->number = number;
	track->parent = tracks->process;
	track->told = inherit_track(tracks, track);
	if (track->told) {
		track->parent = resolve_parent(tracks, thread, track->above,
					       depth, &of_thread);
		describe_named_track(tracks, track, uuid);
	}
	return track;
}

void tracks_define(struct tracks *tracks, uint64_t thread,
		   const struct note_track *told, const char *name,
		   const char *description)
{
	uint64_t uuid = make_uuid(tracks->process, SORT_NUMBER, told->track);
	struct track *track;
	bool of_thread;

	lock_acquire(&tracks->lock);
	track = find_track(tracks, uuid);
	if (track && track->told) {
		tracks->counts.odd_tracks += strcmp(track->name, name) != 0;
		track = NULL;
	} else if (!track) {
		track = add_track(tracks, uuid);
	}
	if (track) {
		track->number = told->track;
		track->told = true;
		track->order = told->order <= ORDER_EXPLICIT ? told->order : 0;
		track->merge = told->merge == MERGE_NONE;
		/* Its events already have that kind. */
		if (!track->used)
			track->kind = told->kind == TRACK_STATES;
		track->rank = told->rank;
		track->ranked = told->rank != 0;
		track->above = told->parent;
		copy_track_texts(tracks, track, name, description);
		track->parent = resolve_parent(tracks, thread, told->parent, 0,
					       &of_thread);
		if (is_below(tracks, track->parent, uuid)) {
			tracks->counts.odd_tracks++;
			track->parent = tracks->process;
		}
		describe_named_track(tracks, track, uuid);
	}
	lock_release(&tracks->lock);
}

/* --- all others ---------------------------------------------------------- */

/* Returns the track @uuid named @name below @parent, and describes it if it is
 * new. Under lock. */
static uint64_t find_named(struct tracks *tracks, uint64_t uuid,
			   uint64_t parent, const char *name,
			   enum track_kind kind)
{
	struct track *track = find_track(tracks, uuid);

	if (track)
		return uuid;
	track = add_track(tracks, uuid);
	if (!track)
		return overflow_track(tracks, kind);
	track->told = true;
	track->parent = parent;
	track->name = name;
	track->kind = (uint8_t)kind;
	describe_named_track(tracks, track, uuid);
	return uuid;
}

/* Returns the uuid of @track if it accepts events of @kind, else 0. */
static uint64_t use_track(struct tracks *tracks, struct track *track,
			  enum track_kind kind)
{
	if (!track)
		return overflow_track(tracks, kind);
	if (!track->told && !track->used) {
		track->used = true;
		track->kind = (uint8_t)kind;
	}
	if (track->kind == kind)
		return track->uuid;
	tracks->counts.odd_tracks++;
	return 0;
}

uint64_t tracks_find(struct tracks *tracks, uint64_t thread, uint64_t number,
		     const struct site *site, enum track_kind kind)
{
	uint64_t scope = number == TRACK_THREAD ? thread : tracks->process;
	enum sort sort = number == TRACK_THREAD	  ? SORT_NAMED_THREAD
			 : number == TRACK_GLOBAL ? SORT_NAMED_GLOBAL
						  : SORT_NAMED_PROCESS;
	uint64_t uuid;

	lock_acquire(&tracks->lock);
	if (number == TRACK_PROCESS || number == TRACK_GLOBAL ||
	    number == TRACK_THREAD) {
		uuid = make_uuid(scope, sort,
				 hash_text(HASH_START, site->name) + kind);
		uuid = find_named(tracks, uuid,
				  number == TRACK_GLOBAL ? 0 : scope,
				  site->name, kind);
	} else {
		uuid = use_track(
			tracks, resolve_track(tracks, thread, number, 0), kind);
	}
	lock_release(&tracks->lock);
	return uuid;
}

uint64_t tracks_lane(struct tracks *tracks, uint64_t uuid, uint32_t lane)
{
	uint64_t own = make_uuid(uuid, SORT_LANE, lane);
	struct track *track, unknown = { .uuid = uuid,
					 .parent = tracks->process,
					 .name = "other tracks",
					 .description = "" };

	lock_acquire(&tracks->lock);
	track = find_track(tracks, uuid);
	describe_named_track(tracks, track ? track : &unknown, own);
	lock_release(&tracks->lock);
	return own;
}

uint64_t tracks_counter(struct tracks *tracks, uint64_t thread,
			const struct site *site)
{
	struct out_counter out = {
		.parent =
			site->flags & SITE_OF_THREAD ? thread : tracks->process,
		.name = site->name,
		.description = site->description,
		.unit = site->unit,
		.unit_name = site->unit_name,
		.multiplier = site->multiplier,
	};
	uint8_t packet[OUT_TRACK_BYTES];
	struct track *track;

	out.uuid = make_uuid(out.parent, SORT_COUNTER, site->id);
	lock_acquire(&tracks->lock);
	track = find_track(tracks, out.uuid);
	if (!track) {
		track = add_track(tracks, out.uuid);
		tracks->counts.overflowed += !track;
		if (track) {
			track->told = true;
			trace_file_append(tracks->trace, 1, packet,
					  out_track_counter(packet,
							    sizeof(packet),
							    &out));
		}
	}
	lock_release(&tracks->lock);
	return track ? out.uuid : 0;
}

uint64_t tracks_marks(struct tracks *tracks)
{
	uint64_t uuid = make_uuid(tracks->process, SORT_MARKS, 0);

	lock_acquire(&tracks->lock);
	uuid = find_named(tracks, uuid, tracks->process,
			  "interesting intervals", TRACK_SLICES);
	lock_release(&tracks->lock);
	return uuid;
}

/* --- life ---------------------------------------------------------------- */

void tracks_finish(struct tracks *tracks)
{
	lock_acquire(&tracks->lock);
	for (uint32_t i = 0; i < tracks->table.count; i++) {
		struct track *track = track_at(tracks, i);

		if (track->told)
			continue;
		describe_named_track(tracks, track, track->uuid);
		track->told = true;
		tracks->counts.unknown_tracks++;
	}
	lock_release(&tracks->lock);
}

struct tracks_counts tracks_counts(struct tracks *tracks)
{
	return LOCKED(&tracks->lock, tracks->counts);
}

int tracks_new(uint64_t process, struct tracks *parent, struct sites *sites,
	       struct trace_file *trace, struct budget *budget,
	       struct tracks **out)
{
	struct tracks *tracks = calloc(1, sizeof(*tracks));

	if (!tracks)
		return -ENOMEM;
	tracks->refs = 1;
	tracks->process = process;
	tracks->parent = parent ? tracks_get(parent) : NULL;
	tracks->sites = sites;
	tracks->trace = trace;
	tracks->budget = budget;
	pool_init(&tracks->table, budget, sizeof(struct track_entry),
		  offsetof(struct track_entry, track));
	lock_init(&tracks->lock, LOCK_TRACKS);
	*out = tracks;
	return 0;
}

struct tracks *tracks_get(struct tracks *tracks)
{
	/* relaxed: the caller already has a reference */
	atom_add_rlx(&tracks->refs, 1);
	return tracks;
}

void tracks_put(struct tracks **tracks)
{
	struct tracks *old = *tracks;

	*tracks = NULL;
	/* order: sc, REFS: all uses of it come before its end */
	if (!old || atom_add_sc(&old->refs, -1u) != 1)
		return;
	for (uint32_t i = 0; i < old->table.count; i++) {
		struct track *track = track_at(old, i);

		if (track->own_name)
			budget_give(old->budget,
				    strlen(track->name) +
					    strlen(track->description) + 2);
		free(track->own_name);
		free(track);
		budget_give(old->budget, sizeof(*track));
	}
	pool_release(&old->table);
	lock_destroy(&old->lock);
	tracks_put(&old->parent);
	free(old);
}
