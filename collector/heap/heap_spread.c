/* SPDX-License-Identifier: Apache-2.0
 *
 * heap_spread - a share is the difference of two partial sums, each rounded
 * down. So the shares add up to the whole, and each share is off by less than
 * one.
 */
#include "collector/heap/heap_spread.h"

#include <stdbool.h>
#include <stdlib.h>

#include "collector/heap/heap.h"
#include "shared/compiler.h"

/* The values of a site, each scaled separately. */
enum part {
	FREED_OBJECTS,
	FREED_BYTES,
	INUSE_OBJECTS,
	INUSE_BYTES,
	VALUES, /* of one moment */
	THEN = VALUES, /* at the peak */
	TEMPORARY = 2 * VALUES,
	PARTS,
};

struct parts {
	uint64_t part[PARTS];
};

struct known {
	uint32_t owner, stack;
	struct parts parts;
};

static void split_values(const struct heap_values *values, uint64_t *part)
{
	part[FREED_OBJECTS] = values->alloc_objects - values->inuse_objects;
	part[FREED_BYTES] = values->alloc_bytes - values->inuse_bytes;
	part[INUSE_OBJECTS] = values->inuse_objects;
	part[INUSE_BYTES] = values->inuse_bytes;
}

static struct heap_values join_value_parts(const uint64_t *part)
{
	return (struct heap_values){
		.alloc_objects = part[FREED_OBJECTS] + part[INUSE_OBJECTS],
		.alloc_bytes = part[FREED_BYTES] + part[INUSE_BYTES],
		.inuse_objects = part[INUSE_OBJECTS],
		.inuse_bytes = part[INUSE_BYTES],
	};
}

static struct parts parts_of(const struct heap_site *site,
			     struct heap_values peak)
{
	struct parts parts;

	split_values(&site->now, parts.part);
	split_values(&peak, parts.part + THEN);
	parts.part[TEMPORARY] = site->temporary;
	return parts;
}

static void set_parts(const struct heap *heap, struct heap_site *site,
		      const struct parts *parts)
{
	site->now = join_value_parts(parts->part);
	site->then = join_value_parts(parts->part + THEN);
	site->temporary = parts->part[TEMPORARY];
	site->epoch = heap->epoch;
}

static int sites_by_owner(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static size_t list_heap_sites(const struct heap *exact, struct heap *heap,
			      struct known **out)
{
	uint32_t sites = heap_site_count(heap);
	size_t count = 0;

	*out = calloc(sites, sizeof(**out));
	for (uint32_t i = 0; *out && i < sites; i++) {
		const struct heap_site *site = heap_get_site(heap, i);
		/* Changed since the last peak of the heap that it follows. */
		bool changed = site->epoch == exact->epoch;

		if (site->now.alloc_objects)
			(*out)[count++] = (struct known){
				site->owner, site->stack,
				parts_of(site, changed ? site->then : site->now)
			};
	}
	if (count)
		qsort(*out, count, sizeof(**out), sites_by_owner);
	return count;
}

static uint64_t share_of_part(uint64_t all, uint64_t part, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)all * part / sum);
}

/* Returns the share of @all for @one, a part of @sum that starts at @from.
 * Moves @from behind @one. */
static struct parts shares_of(const struct parts *all, const struct parts *sum,
			      struct parts *from, const struct parts *one)
{
	struct parts result;

	for (int i = 0; i < PARTS; i++) {
		uint64_t end = from->part[i] + one->part[i];

		result.part[i] = 0;
		if (sum->part[i])
			result.part[i] =
				share_of_part(all->part[i], end, sum->part[i]) -
				share_of_part(all->part[i], from->part[i],
					      sum->part[i]);
		from->part[i] = end;
	}
	return result;
}

/* Returns the site for a known stack, or NULL without memory or if the stack is
 * @unknown. */
static struct heap_site *spread_site(struct heap *exact,
				     const struct known *one, uint32_t unknown)
{
	struct heap_site *site;

	if (one->stack == unknown)
		return NULL;
	site = heap_site_at(exact, heap_site(exact, one->owner, one->stack));
	return site->owner == one->owner && site->stack == one->stack ? site
								      : NULL;
}

static void spread_owner(struct heap *exact, const struct known *list,
			 size_t count, uint32_t unknown)
{
	struct heap_site *site,
		*rest = heap_site_at(exact,
				     heap_site(exact, list->owner, unknown));
	struct parts all = parts_of(rest, heap_at_peak(exact, rest));
	struct parts left = all, sum = { { 0 } }, from = { { 0 } }, given;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < PARTS; j++)
			sum.part[j] += list[i].parts.part[j];
	for (size_t i = 0; i < count; i++) {
		given = shares_of(&all, &sum, &from, &list[i].parts);
		site = spread_site(exact, &list[i], unknown);
		if (!site)
			continue;
		set_parts(exact, site, &given);
		for (size_t j = 0; j < PARTS; j++)
			left.part[j] -= given.part[j];
	}
	set_parts(exact, rest, &left);
}

static void unspread_owner(struct heap *exact, const struct known *list,
			   size_t count, uint32_t unknown)
{
	struct heap_site *site,
		*rest = heap_site_at(exact,
				     heap_site(exact, list->owner, unknown));
	struct parts all = parts_of(rest, heap_at_peak(exact, rest)), back;

	for (size_t i = 0; i < count; i++) {
		site = spread_site(exact, &list[i], unknown);
		if (!site)
			continue;
		back = parts_of(site, site->then);
		for (size_t j = 0; j < PARTS; j++)
			all.part[j] += back.part[j];
		set_parts(exact, site, &(struct parts){ { 0 } });
	}
	set_parts(exact, rest, &all);
}

static void each_owner(struct heap *exact, struct heap *known, uint32_t unknown,
		       void (*call)(struct heap *, const struct known *, size_t,
				    uint32_t))
{
	struct known *sites;
	size_t count = list_heap_sites(exact, known, &sites), i;

	for (size_t first = 0; first < count; first = i) {
		for (i = first; i < count; i++)
			if (sites[i].owner != sites[first].owner)
				break;
		call(exact, sites + first, i - first, unknown);
	}
	free(sites);
}

void heap_spread(struct heap *exact, struct heap *known, uint32_t unknown)
{
	each_owner(exact, known, unknown, spread_owner);
}

void heap_unspread(struct heap *exact, struct heap *known, uint32_t unknown)
{
	each_owner(exact, known, unknown, unspread_owner);
}
