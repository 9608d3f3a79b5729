/* SPDX-License-Identifier: Apache-2.0
 *
 * changes - writes the bytes of many sites into the memory of a process that
 * runs (forms.h). One thread at a time, which may be any.
 *
 * A site whose body changes goes through three steps, each of them for all
 * sites before the next begins: its flip byte is set to off; its body is
 * written; its flip byte is set to what it is to be. Between the steps is a
 * barrier: from then on no CPU runs what it fetched before. A site of which
 * only the flip byte changes needs one step and no barrier.
 *
 * Where entries and exits of a function that calls hooks change in the same
 * step, some calls are seen by one side only. An end without a begin would end
 * an outer call of the same function; a begin without an end is ended by what
 * follows. So exits are switched off before entries, and on after them. Thunks
 * know whether the begin of a call was recorded: there exits are switched on
 * first, too.
 */
#ifndef PERFREC_COLLECTOR_PATCH_CHANGES_H
#define PERFREC_COLLECTOR_PATCH_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_plan.h"

enum change_result {
	CHANGE_WRITTEN,
	CHANGE_DIFFERS, /* other bytes were there; from then on it was left */
	CHANGE_UNMAPPED, /* nothing could be read there */
	CHANGE_REFUSED, /* the kernel refused to write */
	CHANGE_ABANDONED, /* as another of its group failed */
	CHANGE_LOST, /* one of these, after other sites were written */
};

struct change {
	uint64_t address; /* in the process */
	uint8_t form; /* enum code_form, a valid one */
	bool is_exit;
	uint8_t before[CODE_SITE_BYTES]; /* what is there now */
	uint8_t after[CODE_SITE_BYTES]; /* what is to be */
	uint32_t group; /* the sites of one function; any number */
	uint32_t index; /* the caller's */
	/* Set: */
	uint8_t result; /* enum change_result */
	/* For changes_write(): */
	uint8_t flip; /* what is there by now */
	bool body_written;
};

struct change_costs {
	uint64_t writes, barriers; /* system calls, added to */
	uint64_t sites; /* bytes or bodies written, added to */
};

struct change_rules {
	int mem; /* /proc/PID/mem */
	bool held; /* no thread of the process runs: no steps, whole pages */
	bool registered; /* for MEMBARRIER_CMD_GLOBAL_EXPEDITED */
	bool to_hooks; /* sites that are on afterwards call hooks, no thunks */
	/* If a site cannot be switched off first, all of its group are put back
	 * as they were: CHANGE_ABANDONED. */
	bool whole_groups;
};

/* Sorts @list by address. No two may overlap. */
void changes_sort(struct change *list, size_t count);

/*
 * Compares what is in memory with @before of each of the sorted @list, writes
 * nothing and sets each result: CHANGE_WRITTEN if it is the same. Returns 0, or
 * -ESRCH: the process has ended, or has another image.
 */
int changes_verify(int mem, struct change *list, size_t count);

/* Reads what is there into @before of each of the sorted @list, and sets each
 * result. Returns as changes_verify(). */
int changes_read(int mem, struct change *list, size_t count);

/*
 * Makes the changes of the sorted @list. Returns 0, and each result says what
 * became of it; or -ESRCH: the process has ended, or has another image; or
 * -ENOMEM: nothing was written.
 */
int changes_write(const struct change_rules *rules, struct change *list,
		  size_t count, struct change_costs *costs);

/* Reads or writes @bytes at @address of the process with the memory @mem.
 * Returns 0, -ESRCH as above, or another negative errno: not all was done. */
int memory_read(int mem, uint64_t address, void *out, size_t bytes);
int memory_write(int mem, uint64_t address, const void *from, size_t bytes);

#endif
