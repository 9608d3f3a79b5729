/* SPDX-License-Identifier: Apache-2.0
 *
 * changes - writes the bytes of many sites into a running process (forms.h).
 * One thread at a time.
 *
 * If the body of a site changes, the site is switched off, its body is written,
 * and its flip byte gets its new value. Each step covers all sites before the
 * next starts. A barrier between steps ensures that no CPU still runs old
 * bytes. A change of flip bytes alone is one step without a barrier.
 *
 * Meanwhile some calls are seen by only one side. An exit without an entry
 * would end an outer call of the function. So exits are switched off before
 * entries, and on after them. Thunks know whether the entry was recorded, so
 * there exits are switched on first as well.
 */
#ifndef PERFREC_COLLECTOR_CODE_CHANGES_H
#define PERFREC_COLLECTOR_CODE_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/code/code_plan.h"

enum change_result {
	CHANGE_WRITTEN,
	CHANGE_DIFFERS, /* has other bytes, and is no longer touched */
	CHANGE_UNMAPPED,
	CHANGE_REFUSED, /* by the kernel */
	CHANGE_ABANDONED, /* another site of the group failed */
	CHANGE_LOST, /* failed after other sites were written */
};

struct change {
	uint64_t address;
	uint8_t form; /* enum code_form */
	bool is_exit;
	uint8_t before[CODE_SITE_BYTES];
	uint8_t after[CODE_SITE_BYTES];
	uint32_t group; /* sites of one function share a number */
	uint32_t index;
	/* Output: */
	uint8_t result; /* enum change_result */
	/* State of changes_write(): */
	uint8_t flip; /* the flip byte as written last */
	bool body_written;
};

struct change_costs {
	uint64_t writes, barriers; /* system calls */
	uint64_t sites; /* flip bytes and bodies written */
};

struct change_rules {
	int mem; /* /proc/PID/mem */
	bool held; /* no thread runs: whole pages, without steps */
	bool registered; /* for MEMBARRIER_CMD_GLOBAL_EXPEDITED */
	bool to_hooks; /* sites call hooks, not thunks */
	/* If a site cannot be switched off, revert its group. */
	bool whole_groups;
};

void changes_sort(struct change *list, size_t count);

/* Compares memory with @before and sets each result (CHANGE_WRITTEN: equal).
 * @list is sorted. Returns 0, or -ESRCH: the process has ended or called
 * exec(). */
int changes_verify(int mem, struct change *list, size_t count);

/* Reads memory into @before and sets each result, as changes_verify(). */
int changes_read(int mem, struct change *list, size_t count);

/* Makes the changes of the sorted @list and sets each result. Returns 0, -ESRCH
 * as above, or -ENOMEM: nothing was written. */
int changes_write(const struct change_rules *rules, struct change *list,
		  size_t count, struct change_costs *costs);

/* Return 0, -ESRCH as above, or another -errno if not all was transferred. */
int memory_read(int mem, uint64_t address, void *out, size_t bytes);
int memory_write(int mem, uint64_t address, const void *from, size_t bytes);

#endif
