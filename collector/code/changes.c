/* SPDX-License-Identifier: Apache-2.0
 *
 * changes - how sites are written (changes.h).
 *
 * One system call reads a window of sites, and they are written at once, so the
 * bytes just read are current. A process that has ended or called exec()
 * transfers 0 bytes.
 */
#include "collector/code/changes.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/code/forms.h"

#define WINDOW_BYTES 4096u
/* Sites farther apart are written separately: pages without sites stay
 * clean. */
#define GAP_BYTES 2048u

/* --- memory -------------------------------------------------------------- */

static int result_of_write(ssize_t done, size_t bytes)
{
	if (done < 0)
		return -errno;
	if (done == 0)
		return -ESRCH;
	return (size_t)done == bytes ? 0 : -EIO;
}

int memory_read(int mem, uint64_t address, void *out, size_t bytes)
{
	return result_of_write(pread(mem, out, bytes, (off_t)address), bytes);
}

int memory_write(int mem, uint64_t address, const void *from, size_t bytes)
{
	return result_of_write(pwrite(mem, from, bytes, (off_t)address), bytes);
}

/* Applies to all processes, as several may be changed. */
static void barrier(bool registered, struct change_costs *costs)
{
	costs->barriers++;
	if (registered &&
	    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0) == 0)
		return;
	syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

/* --- windows ------------------------------------------------------------- */

struct window {
	uint64_t start, end;
	uint8_t bytes[WINDOW_BYTES];
};

static uint64_t end_of_change(const struct change *change)
{
	return change->address + site_form(change->form)->length;
}

static size_t window_count(const struct change *list, size_t count)
{
	size_t i = 1;

	while (i < count &&
	       end_of_change(&list[i]) - list->address <= WINDOW_BYTES &&
	       list[i].address - end_of_change(&list[i - 1]) <= GAP_BYTES)
		i++;
	return i;
}

static int read_change_window(struct window *window, int mem, uint64_t start,
			      uint64_t end)
{
	int err = memory_read(mem, start, window->bytes, end - start);

	window->start = start;
	window->end = err ? start : end;
	return err;
}

/* Reads a window if necessary. Returns NULL if nothing is mapped there, or if
 * the process is gone (*@err). */
static uint8_t *bytes_of_window(struct window *window, int mem,
				const struct change *list, size_t count,
				int *err)
{
	uint64_t end;

	*err = 0;
	if (list->address < window->start ||
	    end_of_change(list) > window->end) {
		end = end_of_change(&list[window_count(list, count) - 1]);
		*err = read_change_window(window, mem, list->address, end);
		if (*err && *err != -ESRCH)
			*err = read_change_window(window, mem, list->address,
						  end_of_change(list));
		if (*err) {
			*err = *err == -ESRCH ? -ESRCH : 0;
			return NULL;
		}
	}
	return window->bytes + (list->address - window->start);
}

static int order_by_address(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

void changes_sort(struct change *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), order_by_address);
}

int changes_read(int mem, struct change *list, size_t count)
{
	struct window window = { 0 };

	for (size_t i = 0; i < count; i++) {
		int err;
		const uint8_t *bytes = bytes_of_window(&window, mem, list + i,
						       count - i, &err);

		if (err)
			return err;
		list[i].result = bytes ? CHANGE_WRITTEN : CHANGE_UNMAPPED;
		memset(list[i].before, 0, CODE_SITE_BYTES);
		if (bytes)
			memcpy(list[i].before, bytes,
			       site_form(list[i].form)->length);
	}
	return 0;
}

int changes_verify(int mem, struct change *list, size_t count)
{
	struct window window = { 0 };

	for (size_t i = 0; i < count; i++) {
		int err;
		const uint8_t *bytes = bytes_of_window(&window, mem, list + i,
						       count - i, &err);

		if (err)
			return err;
		list[i].result = CHANGE_WRITTEN;
		if (!bytes)
			list[i].result = CHANGE_UNMAPPED;
		else if (memcmp(bytes, list[i].before,
				site_form(list[i].form)->length) != 0)
			list[i].result = CHANGE_DIFFERS;
	}
	return 0;
}

/* --- steps --------------------------------------------------------------- */

enum step {
	STEP_OFF,
	STEP_BODY,
	STEP_FLIP,
};

static bool body_differs(const struct change *change)
{
	const struct site_form *form = site_form(change->form);

	return memcmp(change->before + form->body, change->after + form->body,
		      form->body_end - form->body) != 0;
}

static bool needs_step(const struct change *change, enum step step)
{
	const struct site_form *form = site_form(change->form);

	if (change->result != CHANGE_WRITTEN &&
	    change->result != CHANGE_ABANDONED)
		return false;
	switch (step) {
	case STEP_OFF:
		return change->flip != form->off &&
		       (body_differs(change) ||
			change->after[form->flip] == form->off);
	case STEP_BODY:
		return body_differs(change) && !change->body_written;
	default:
		return change->flip != change->after[form->flip];
	}
}

static bool is_as_left(const struct change *change, const uint8_t *bytes)
{
	const struct site_form *form = site_form(change->form);
	uint8_t left[CODE_SITE_BYTES];

	memcpy(left, change->body_written ? change->after : change->before,
	       CODE_SITE_BYTES);
	left[form->flip] = change->flip;
	return !memcmp(bytes, left, form->length);
}

static int write_step(int mem, struct change *change, enum step step)
{
	const struct site_form *form = site_form(change->form);
	uint8_t flip;

	if (step == STEP_BODY)
		return memory_write(mem, change->address + form->body,
				    change->after + form->body,
				    form->body_end - form->body);
	flip = step == STEP_OFF ? form->off : change->after[form->flip];
	return memory_write(mem, change->address + form->flip, &flip, 1);
}

static void step_done(struct change *change, enum step step)
{
	const struct site_form *form = site_form(change->form);

	if (step == STEP_BODY)
		change->body_written = true;
	else
		change->flip = step == STEP_OFF ? form->off
						: change->after[form->flip];
}

static void step_failed(struct change *change, enum step step,
			enum change_result why)
{
	change->result = step == STEP_OFF ? why : CHANGE_LOST;
}

#define ENTRIES 1u
#define EXITS 2u

static int do_step(int mem, struct change *list, size_t count, enum step step,
		   unsigned int sides, struct change_costs *costs)
{
	struct window window = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct change *change = &list[i];
		const uint8_t *bytes;
		int err;

		if (!(sides & (change->is_exit ? EXITS : ENTRIES)) ||
		    !needs_step(change, step))
			continue;
		bytes = bytes_of_window(&window, mem, change, count - i, &err);
		if (err)
			return err;
		if (!bytes || !is_as_left(change, bytes)) {
			step_failed(change, step,
				    bytes ? CHANGE_DIFFERS : CHANGE_UNMAPPED);
			continue;
		}
		err = write_step(mem, change, step);
		costs->writes++;
		if (err == -ESRCH)
			return err;
		if (err) {
			step_failed(change, step, CHANGE_REFUSED);
			continue;
		}
		costs->sites++;
		step_done(change, step);
	}
	return 0;
}

static bool any_needs(const struct change *list, size_t count, enum step step)
{
	for (size_t i = 0; i < count; i++)
		if (needs_step(&list[i], step))
			return true;
	return false;
}

static void abandon_groups(struct change *list, size_t count, uint8_t *failed)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].result != CHANGE_WRITTEN)
			failed[list[i].group] = 1;
	for (size_t i = 0; i < count; i++) {
		struct change *change = &list[i];

		if (!failed[change->group] || change->result != CHANGE_WRITTEN)
			continue;
		memcpy(change->after, change->before, CODE_SITE_BYTES);
		change->result = CHANGE_ABANDONED;
	}
}

static int write_live(const struct change_rules *rules, struct change *list,
		      size_t count, uint8_t *failed, struct change_costs *costs)
{
	int mem = rules->mem;
	unsigned int first = rules->to_hooks ? ENTRIES : EXITS;
	int err;

	err = do_step(mem, list, count, STEP_OFF, EXITS, costs);
	if (!err)
		err = do_step(mem, list, count, STEP_OFF, ENTRIES, costs);
	if (err)
		return err;
	if (failed)
		abandon_groups(list, count, failed);
	if (any_needs(list, count, STEP_BODY)) {
		barrier(rules->registered, costs);
		err = do_step(mem, list, count, STEP_BODY, ENTRIES | EXITS,
			      costs);
		if (err)
			return err;
		barrier(rules->registered, costs);
	}
	err = do_step(mem, list, count, STEP_FLIP, first, costs);
	if (!err)
		err = do_step(mem, list, count, STEP_FLIP,
			      (ENTRIES | EXITS) & ~first, costs);
	return err;
}

/* --- while the program waits --------------------------------------------- */

/* CHANGE_WRITTEN: changes to make. CHANGE_ABANDONED: made changes to revert. */
static bool is_change_due(const struct change *change, enum change_result pass)
{
	return change->result == pass &&
	       change->body_written == (pass == CHANGE_ABANDONED);
}

static int write_change_window(int mem, struct window *window,
			       struct change *list, size_t count,
			       enum change_result pass,
			       struct change_costs *costs)
{
	int err;

	for (size_t i = 0; i < count; i++)
		if (is_change_due(&list[i], pass))
			memcpy(window->bytes +
				       (list[i].address - window->start),
			       list[i].after, site_form(list[i].form)->length);
	err = memory_write(mem, window->start, window->bytes,
			   window->end - window->start);
	costs->writes++;
	if (err == -ESRCH)
		return err;
	for (size_t i = 0; i < count; i++) {
		if (!is_change_due(&list[i], pass))
			continue;
		if (err)
			list[i].result = pass == CHANGE_ABANDONED
						 ? CHANGE_LOST
						 : CHANGE_REFUSED;
		else
			costs->sites++;
		list[i].body_written = !err && pass == CHANGE_WRITTEN;
	}
	return 0;
}

static bool any_is_due(const struct change *list, size_t count,
		       enum change_result pass)
{
	for (size_t i = 0; i < count; i++)
		if (is_change_due(&list[i], pass))
			return true;
	return false;
}

static int write_windows(int mem, struct change *list, size_t count,
			 enum change_result pass, struct change_costs *costs)
{
	struct window window = { 0 };
	int err = 0;

	for (size_t i = 0, n; !err && i < count; i += n) {
		n = window_count(list + i, count - i);
		if (!any_is_due(list + i, n, pass))
			continue;
		err = read_change_window(&window, mem, list[i].address,
					 end_of_change(&list[i + n - 1]));
		if (!err) {
			err = write_change_window(mem, &window, list + i, n,
						  pass, costs);
		} else if (err != -ESRCH) {
			for (size_t j = i; j < i + n; j++)
				if (is_change_due(&list[j], pass))
					list[j].result =
						pass == CHANGE_ABANDONED
							? CHANGE_LOST
							: CHANGE_UNMAPPED;
			err = 0;
		}
	}
	return err;
}

static int write_held(int mem, struct change *list, size_t count,
		      uint8_t *failed, struct change_costs *costs)
{
	int err = changes_verify(mem, list, count);

	if (!err && failed)
		abandon_groups(list, count, failed);
	if (!err)
		err = write_windows(mem, list, count, CHANGE_WRITTEN, costs);
	if (!err && failed) {
		abandon_groups(list, count, failed);
		err = write_windows(mem, list, count, CHANGE_ABANDONED, costs);
	}
	return err;
}

static uint32_t groups_of(const struct change *list, size_t count)
{
	uint32_t groups = 0;

	for (size_t i = 0; i < count; i++)
		if (list[i].group >= groups)
			groups = list[i].group + 1;
	return groups;
}

int changes_write(const struct change_rules *rules, struct change *list,
		  size_t count, struct change_costs *costs)
{
	uint8_t *failed = NULL;
	int err;

	if (!count)
		return 0;
	if (rules->whole_groups) {
		failed = calloc(groups_of(list, count), 1);
		if (!failed)
			return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		list[i].result = CHANGE_WRITTEN;
		list[i].flip = list[i].before[site_form(list[i].form)->flip];
		list[i].body_written = false;
	}
	if (rules->held)
		err = write_held(rules->mem, list, count, failed, costs);
	else
		err = write_live(rules, list, count, failed, costs);
	free(failed);
	return err;
}
