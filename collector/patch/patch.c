/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - the text of one process (patch.h): which functions are connected, and
 * what state each site was left in. The bytes are written by changes.c.
 */
#include "collector/patch/patch_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/base/bytes.h"
#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/patch/thunks.h"

static const char *const g_reasons[PATCH_REASONS] = {
	[PATCH_DONE] = "it is connected",
	[PATCH_REFUSED] = "its code cannot be changed",
	[PATCH_NO_SITES] = "it calls no hook",
	[PATCH_MERGED] = "it shares a call of a hook with another function",
	[PATCH_NO_MAP] = "the map of its process cannot be read",
	[PATCH_NOT_MAPPED] = "its file is not mapped there",
	[PATCH_NOT_EXECUTABLE] = "its memory is not executable",
	[PATCH_SHARED] = "its memory is shared with other processes",
	[PATCH_DIFFERS] = "its bytes in memory are not those of its file",
	[PATCH_OUT_OF_REACH] = "the thunks are too far away",
	[PATCH_NUMBER] = "there is no number left for it",
	[PATCH_NO_WRITE] = "the kernel refuses to write",
	[PATCH_GONE] = "the process is gone",
	[PATCH_NO_MEMORY] = "the collector has no memory for it",
};

const char *patch_reason_text(enum patch_reason reason)
{
	return g_reasons[reason];
}

/* --- memory of a process ----------------------------------------------------
 */

int patch_mem_open(pid_t pid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whether @path ends as ".../NUMBER/mem". */
static bool names_memory(const char *path)
{
	const char *end = strrchr(path, '/');
	const char *at = end;

	if (!end || strcmp(end, "/mem") != 0)
		return false;
	while (at > path && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return at < end && at > path && at[-1] == '/';
}

bool patch_mem_is_good(int fd)
{
	char link[32], path[PATH_MAX];
	struct statfs filesystem;
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	return names_memory(path) && fstatfs(fd, &filesystem) == 0 &&
	       filesystem.f_type == PROC_SUPER_MAGIC &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

/* --- images -----------------------------------------------------------------
 */

struct patch_image *patch_image_new(struct thunk_area *area, pid_t pid, int mem,
				    bool registered)
{
	struct patch_image *image = calloc(1, sizeof(*image));

	if (!image)
		return NULL;
	image->head = calloc(FUNCTIONS_MAX, sizeof(*image->head));
	if (!image->head) {
		free(image);
		return NULL;
	}
	image->area = area;
	image->pid = pid;
	image->mem = mem;
	image->registered = registered;
	return image;
}

static void release_module(struct image_module *module)
{
	free(module->sites);
	free(module->numbers);
	*module = (struct image_module){ 0 };
}

/* All but the descriptor. */
static void free_image(struct patch_image *image)
{
	for (size_t i = 0; i < image->module_count; i++)
		release_module(&image->modules[i]);
	free(image->modules);
	free(image->links);
	free(image->head);
	text_map_release(&image->map);
	free(image);
}

void patch_image_free(struct patch_image *image)
{
	if (!image)
		return;
	close(image->mem);
	free_image(image);
}

static bool alloc_module(struct image_module *module,
			 const struct code_plan *plan)
{
	module->sites = calloc(plan->site_count + 1, sizeof(*module->sites));
	module->numbers =
		calloc(plan->function_count + 1, sizeof(*module->numbers));
	if (!module->sites || !module->numbers) {
		release_module(module);
		return false;
	}
	module->plan = plan;
	return true;
}

int patch_module_add(struct patch_image *image, const struct code_plan *plan,
		     uint64_t bias, ino_t inode)
{
	struct image_module module = { 0 };
	size_t i = 0;

	while (i < image->module_count && image->modules[i].plan)
		i++;
	if (i == INT_MAX ||
	    grow_array(image->modules, image->module_room, i + 1) < 0 ||
	    !alloc_module(&module, plan))
		return -ENOMEM;
	module.bias = bias;
	module.inode = inode;
	if (i == image->module_count)
		image->module_count++;
	image->modules[i] = module;
	return (int)i;
}

static struct image_module *module_of(const struct patch_image *image,
				      int module)
{
	if (module < 0 || (size_t)module >= image->module_count ||
	    !image->modules[module].plan)
		return NULL;
	return &image->modules[module];
}

bool patch_is_gone(const struct patch_image *image)
{
	return image->gone;
}

struct patch_counts patch_counts(const struct patch_image *image)
{
	return image->counts;
}

/* Adds what @costs say, and the time since @start. */
static void count_costs(struct patch_image *image,
			const struct change_costs *costs, uint64_t start)
{
	image->counts.writes += costs->writes;
	image->counts.barriers += costs->barriers;
	image->counts.sites_written += costs->sites;
	image->counts.ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void set_state(struct patch_image *image, struct image_site *site,
		      enum site_state state)
{
	struct patch_counts *counts = &image->counts;

	counts->sites -= site->state != SITE_PLAIN;
	counts->off -= site->state == SITE_OFF;
	site->state = (uint8_t)state;
	site->is_half = false;
	counts->sites += state != SITE_PLAIN;
	counts->off += state == SITE_OFF;
}

static void set_foreign(struct patch_image *image, struct image_site *site)
{
	if (site->state != SITE_FOREIGN)
		image->counts.foreign++;
	set_state(image, site, SITE_FOREIGN);
}

/* --- numbers ----------------------------------------------------------------
 */

static bool link_function(struct patch_image *image, uint32_t number,
			  uint32_t module, uint32_t function)
{
	uint32_t link = image->free_links;

	if (link) {
		image->free_links = image->links[link - 1].next;
	} else {
		if (grow_array(image->links, image->link_room,
			       image->link_count + 1) < 0)
			return false;
		link = (uint32_t)++image->link_count;
	}
	image->links[link - 1] = (struct image_link){
		.module = module,
		.function = function,
		.next = image->head[number],
	};
	image->head[number] = link;
	return true;
}

static void unlink_function(struct patch_image *image, uint32_t number,
			    uint32_t module, uint32_t function)
{
	uint32_t *at = &image->head[number];

	while (*at) {
		uint32_t link = *at;
		struct image_link *it = &image->links[link - 1];

		if (it->module != module || it->function != function) {
			at = &it->next;
			continue;
		}
		*at = it->next;
		it->next = image->free_links;
		image->free_links = link;
		return;
	}
}

/* The function is not connected any more, or not after all. */
static void disconnect(struct patch_image *image, int index, uint32_t function)
{
	struct image_module *module = &image->modules[index];

	if (!module->numbers[function])
		return;
	unlink_function(image, module->numbers[function], (uint32_t)index,
			function);
	module->numbers[function] = 0;
}

void patch_module_forget(struct patch_image *image, int index)
{
	struct image_module *module = module_of(image, index);

	if (!module)
		return;
	for (size_t i = 0; i < module->plan->function_count; i++)
		disconnect(image, index, (uint32_t)i);
	for (size_t i = 0; i < module->plan->site_count; i++)
		set_state(image, &module->sites[i], SITE_PLAIN);
	release_module(module);
}

bool patch_is_connected(const struct patch_image *image, uint32_t number)
{
	return number < FUNCTIONS_MAX && image->head[number];
}

/* --- gathering changes ------------------------------------------------------
 */

static const uint32_t *sites_of(const struct code_plan *plan,
				const struct code_function *function)
{
	return plan->function_sites + function->first;
}

/* Appends a change of site @index of @module, with nothing in before and after.
 * NULL: no memory. */
static struct change *add_change(struct change_list *changes,
				 const struct image_module *module,
				 uint32_t index, uint32_t group)
{
	const struct code_site *site = &module->plan->sites[index];

	if (grow_array(changes->list, changes->room, changes->count + 1) < 0)
		return NULL;
	changes->list[changes->count] = (struct change){
		.address = module->bias + site->address,
		.form = site->form,
		.is_exit = site->is_exit,
		.group = group,
		.index = index,
	};
	return &changes->list[changes->count++];
}

static void fill_bytes(const struct image_module *module, uint32_t index,
		       enum site_state state, uint8_t *out)
{
	const struct code_site *site = &module->plan->sites[index];

	site_bytes(site->form, site->bytes, state, module->sites[index].operand,
		   out);
}

/* --- connecting -------------------------------------------------------------
 */

/* Whether the text at @address is the module's own, and nobody else's. */
static enum patch_reason check_mapping(const struct patch_image *image,
				       const struct image_module *module,
				       uint64_t address, uint32_t length)
{
	const struct text_mapping *mapping =
		text_map_find(&image->map, address, length);

	if (!mapping || (module->inode && mapping->inode != module->inode))
		return PATCH_NOT_MAPPED;
	if (!mapping->is_executable)
		return PATCH_NOT_EXECUTABLE;
	if (mapping->is_shared)
		return PATCH_SHARED;
	return PATCH_DONE;
}

static enum thunk_side side_of(const struct code_site *site)
{
	if (!site->is_exit)
		return THUNK_SIDE_ENTRY;
	if (site->form == CODE_XRAY_EXIT)
		return THUNK_SIDE_EXIT_JUMP;
	return site->r11_live ? THUNK_SIDE_EXIT_R11 : THUNK_SIDE_EXIT;
}

/* Finds a mapping of the area from which the thunk can be reached. */
static bool find_operand(struct patch_image *image, uint64_t address,
			 const struct code_site *site, uint32_t number,
			 int32_t *operand)
{
	const struct site_form *form = site_form(site->form);

	for (size_t i = 0; i < image->map.count; i++) {
		const struct text_mapping *mapping = &image->map.list[i];

		if (thunk_area_is_file(image->area, mapping->device,
				       mapping->inode) &&
		    mapping->is_executable && !mapping->offset &&
		    mapping->end - mapping->start >= THUNK_AREA_BYTES &&
		    thunk_area_operand(image->area, mapping->start, number,
				       side_of(site), form->through_memory,
				       address + form->next, operand))
			return true;
	}
	return false;
}

static enum patch_reason check_site(struct patch_image *image,
				    struct image_module *module, uint32_t index,
				    uint32_t number)
{
	const struct code_site *site = &module->plan->sites[index];
	uint64_t address = module->bias + site->address;
	enum patch_reason reason;

	if (site->count != 1)
		return PATCH_MERGED;
	if (!site_form(site->form)->length)
		return PATCH_REFUSED;
	reason = check_mapping(image, module, address, site->length);
	if (reason != PATCH_DONE)
		return reason;
	return find_operand(image, address, site, number,
			    &module->sites[index].operand)
		       ? PATCH_DONE
		       : PATCH_OUT_OF_REACH;
}

/* The address of @function in the process, in *@out. */
static bool address_of(const struct patch_image *image,
		       const struct image_module *module,
		       const struct code_function *function, uint64_t *out)
{
	*out = module->bias + function->address;
	return !function->slot ||
	       memory_read(image->mem, module->bias + function->slot, out,
			   sizeof(*out)) == 0;
}

static enum patch_reason check_function(struct patch_image *image,
					struct image_module *module,
					struct patch_function *wanted)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *function =
		&plan->functions[wanted->function];
	enum patch_reason reason = PATCH_DONE;

	if (function->refused)
		return PATCH_REFUSED;
	if (!function->count)
		return PATCH_NO_SITES;
	if (!address_of(image, module, function, &wanted->address))
		return PATCH_NOT_MAPPED;
	if (thunk_area_add(image->area, wanted->number, wanted->address,
			   function->entry_build ? THUNK_ENTRY : THUNK_CALLS))
		return PATCH_NUMBER;
	for (uint32_t i = 0; i < function->count && reason == PATCH_DONE; i++)
		reason = check_site(image, module, sites_of(plan, function)[i],
				    wanted->number);
	return reason;
}

/* Adds the changes of function @group of a list, @wanted. */
static enum patch_reason gather_function(struct change_list *changes,
					 const struct image_module *module,
					 const struct patch_function *wanted,
					 uint32_t group)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *function =
		&plan->functions[wanted->function];
	size_t before = changes->count;

	for (uint32_t i = 0; i < function->count; i++) {
		uint32_t index = sites_of(plan, function)[i];
		struct change *change =
			add_change(changes, module, index, group);

		if (!change) {
			changes->count = before;
			return PATCH_NO_MEMORY;
		}
		fill_bytes(module, index, SITE_PLAIN, change->before);
		fill_bytes(module, index, wanted->off ? SITE_OFF : SITE_ON,
			   change->after);
	}
	return PATCH_DONE;
}

/* Checks one function; if it may be connected, its changes are in @changes, and
 * its number is noted. */
static void begin_function(struct patch_image *image,
			   struct change_list *changes,
			   struct patch_function *wanted, uint32_t group)
{
	struct image_module *module = module_of(image, wanted->module);
	size_t before = changes->count;

	if (!module || wanted->function >= module->plan->function_count) {
		wanted->reason = PATCH_NO_SITES;
		return;
	}
	if (module->numbers[wanted->function]) {
		wanted->reason =
			module->numbers[wanted->function] == wanted->number
				? PATCH_DONE
				: PATCH_NUMBER;
		return;
	}
	wanted->reason = check_function(image, module, wanted);
	if (wanted->reason == PATCH_DONE)
		wanted->reason =
			gather_function(changes, module, wanted, group);
	if (wanted->reason != PATCH_DONE)
		return;
	if (!link_function(image, wanted->number, (uint32_t)wanted->module,
			   wanted->function)) {
		changes->count = before;
		wanted->reason = PATCH_NO_MEMORY;
		return;
	}
	module->numbers[wanted->function] = wanted->number;
}

static enum patch_reason reason_of(enum change_result result)
{
	switch (result) {
	case CHANGE_DIFFERS:
		return PATCH_DIFFERS;
	case CHANGE_UNMAPPED:
		return PATCH_NOT_MAPPED;
	case CHANGE_REFUSED:
		return PATCH_NO_WRITE;
	default:
		return PATCH_DONE;
	}
}

/* Takes back what was noted of functions of which a site failed, and leaves the
 * changes of all others in @changes. */
static void drop_failed(struct patch_image *image, struct change_list *changes,
			struct patch_function *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		struct patch_function *wanted = &list[change->group];
		enum patch_reason reason =
			reason_of((enum change_result)change->result);

		if (reason == PATCH_DONE)
			continue;
		wanted->reason = reason;
		disconnect(image, wanted->module, wanted->function);
	}
	for (size_t i = 0; i < changes->count; i++)
		if (list[changes->list[i].group].reason == PATCH_DONE)
			changes->list[kept++] = changes->list[i];
	changes->count = kept;
}

static void drop_all(struct patch_image *image, struct change_list *changes,
		     struct patch_function *list, enum patch_reason reason)
{
	for (size_t i = 0; i < changes->count; i++) {
		struct patch_function *wanted = &list[changes->list[i].group];

		wanted->reason = reason;
		disconnect(image, wanted->module, wanted->function);
	}
	changes->count = 0;
}

static bool tell_changes(struct patch_image *image,
			 const struct change_list *changes,
			 const struct patch_function *list)
{
	struct bytes entries = { 0 };
	bool told;

	if (!image->tell || !changes->count)
		return true;
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];

		patch_entry_put(&entries,
				module_of(image, list[change->group].module),
				change->index);
	}
	told = !entries.failed;
	if (told)
		image->tell(image->tell_arg, entries.at, entries.count);
	bytes_release(&entries);
	return told;
}

/* Notes what became of the sites. */
static void end_functions(struct patch_image *image,
			  struct change_list *changes,
			  const struct patch_function *list)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		const struct patch_function *wanted = &list[change->group];
		struct image_module *module = module_of(image, wanted->module);
		struct image_site *site = &module->sites[change->index];

		if (change->result == CHANGE_LOST)
			set_foreign(image, site);
		else
			set_state(image, site,
				  wanted->off ? SITE_OFF : SITE_ON);
	}
}

static void write_connected(struct patch_image *image,
			    struct change_list *changes,
			    struct patch_function *list, bool held,
			    struct change_costs *costs)
{
	struct change_rules rules = {
		.mem = image->mem,
		.held = held,
		.registered = image->registered,
		.whole_groups = true,
	};
	int err;

	changes_sort(changes->list, changes->count);
	err = changes_verify(image->mem, changes->list, changes->count);
	if (!err) {
		drop_failed(image, changes, list);
		if (!tell_changes(image, changes, list))
			err = -ENOMEM;
	}
	if (!err)
		err = changes_write(&rules, changes->list, changes->count,
				    costs);
	image->gone |= err == -ESRCH;
	if (err)
		drop_all(image, changes, list,
			 err == -ESRCH ? PATCH_GONE : PATCH_NO_MEMORY);
	else
		drop_failed(image, changes, list);
	end_functions(image, changes, list);
}

size_t patch_connect(struct patch_image *image, struct patch_function *list,
		     size_t count, bool held)
{
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	struct change_list changes = { 0 };
	struct change_costs costs = { 0 };
	size_t connected = 0;
	int err = text_map_read(&image->map, image->pid);

	for (size_t i = 0; i < count; i++)
		if (image->gone || err == -ENOENT)
			list[i].reason = PATCH_GONE;
		else if (err)
			list[i].reason = PATCH_NO_MAP;
		else
			begin_function(image, &changes, &list[i], (uint32_t)i);
	write_connected(image, &changes, list, held, &costs);
	for (size_t i = 0; i < count; i++)
		connected += list[i].reason == PATCH_DONE;
	free(changes.list);
	count_costs(image, &costs, start);
	return connected;
}

/* --- switching --------------------------------------------------------------
 */

/* The changes that make all sites of function @link @wanted. */
static int gather_switch(struct patch_image *image, struct change_list *changes,
			 const struct image_link *link, enum site_state wanted)
{
	const struct image_module *module = &image->modules[link->module];
	const struct code_plan *plan = module->plan;
	const struct code_function *function = &plan->functions[link->function];

	for (uint32_t i = 0; i < function->count; i++) {
		uint32_t index = sites_of(plan, function)[i];
		enum site_state now = module->sites[index].state;
		struct change *change;

		if (now == wanted || now == SITE_FOREIGN || now == SITE_PLAIN)
			continue;
		change = add_change(changes, module, index, link->module);
		if (!change)
			return -ENOMEM;
		fill_bytes(module, index, now, change->before);
		fill_bytes(module, index, wanted, change->after);
	}
	return 0;
}

/* The group of each change is its module here. */
static void end_changes(struct patch_image *image,
			const struct change_list *changes,
			enum site_state wanted)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		struct image_site *site =
			&image->modules[change->group].sites[change->index];

		if (change->result == CHANGE_WRITTEN)
			set_state(image, site, wanted);
		else
			set_foreign(image, site);
	}
}

/* Makes the @changes, after which all sites are @wanted. */
static int write_changes(struct patch_image *image, struct change_list *changes,
			 enum site_state wanted)
{
	struct change_rules rules = {
		.mem = image->mem,
		.registered = image->registered,
	};
	struct change_costs costs = { 0 };
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;

	changes_sort(changes->list, changes->count);
	err = changes_write(&rules, changes->list, changes->count, &costs);
	if (!err)
		end_changes(image, changes, wanted);
	image->gone |= err == -ESRCH;
	count_costs(image, &costs, start);
	return err;
}

int patch_switch(struct patch_image *image, const uint32_t *numbers,
		 size_t count, bool on)
{
	enum site_state wanted = on ? SITE_ON : SITE_OFF;
	struct change_list changes = { 0 };
	int err = image->gone ? -ESRCH : 0;

	for (size_t i = 0; !err && i < count; i++) {
		uint32_t link = numbers[i] < FUNCTIONS_MAX
					? image->head[numbers[i]]
					: 0;

		for (; !err && link; link = image->links[link - 1].next)
			err = gather_switch(image, &changes,
					    &image->links[link - 1], wanted);
	}
	if (!err)
		err = write_changes(image, &changes, wanted);
	free(changes.list);
	return err;
}

/* --- restoring --------------------------------------------------------------
 */

/* All sites that are changed, or were found so. */
static int gather_changed(const struct patch_image *image,
			  struct change_list *changes)
{
	for (size_t m = 0; m < image->module_count; m++) {
		const struct image_module *module = &image->modules[m];

		for (size_t i = 0; module->plan && i < module->plan->site_count;
		     i++) {
			struct change *change;

			if (module->sites[i].state == SITE_PLAIN)
				continue;
			change = add_change(changes, module, (uint32_t)i,
					    (uint32_t)m);
			if (!change)
				return -ENOMEM;
			fill_bytes(module, (uint32_t)i, SITE_PLAIN,
				   change->after);
		}
	}
	return 0;
}

/* In which state the site of @change was found. */
static enum site_state found_state(const struct patch_image *image,
				   const struct change *change,
				   bool *body_is_plain)
{
	const struct image_module *module = &image->modules[change->group];
	const struct code_site *site = &module->plan->sites[change->index];

	if (change->result != CHANGE_WRITTEN)
		return SITE_FOREIGN;
	return site_state_of(site->form, site->bytes,
			     module->sites[change->index].operand,
			     change->before, body_is_plain);
}

/* Reads all sites of @changes anew, notes those that are foreign or as in the
 * file, and leaves the others. */
static int find_states(struct patch_image *image, struct change_list *changes)
{
	size_t kept = 0;
	int err;

	changes_sort(changes->list, changes->count);
	err = changes_read(image->mem, changes->list, changes->count);
	image->gone |= err == -ESRCH;
	for (size_t i = 0; !err && i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		bool body_is_plain = false;
		enum site_state state =
			found_state(image, change, &body_is_plain);
		struct image_site *site =
			&image->modules[change->group].sites[change->index];

		if (state == SITE_FOREIGN)
			set_foreign(image, site);
		else
			set_state(image, site, state);
		site->is_half = state == SITE_OFF && body_is_plain;
		if (state == SITE_ON || state == SITE_OFF)
			changes->list[kept++] = *change;
	}
	changes->count = kept;
	return err;
}

static void disconnect_all(struct patch_image *image)
{
	for (size_t m = 0; m < image->module_count; m++) {
		const struct code_plan *plan = image->modules[m].plan;

		for (size_t i = 0; plan && i < plan->function_count; i++)
			disconnect(image, (int)m, (uint32_t)i);
	}
}

int patch_restore(struct patch_image *image)
{
	struct change_list changes = { 0 };
	int err = image->gone ? -ESRCH : gather_changed(image, &changes);

	if (!err)
		err = find_states(image, &changes);
	if (!err)
		err = write_changes(image, &changes, SITE_PLAIN);
	if (!err)
		disconnect_all(image);
	free(changes.list);
	return err;
}

/* --- forked processes -------------------------------------------------------
 */

static bool copy_module(struct image_module *out,
			const struct image_module *module)
{
	if (!alloc_module(out, module->plan))
		return false;
	out->bias = module->bias;
	out->inode = module->inode;
	memcpy(out->sites, module->sites,
	       module->plan->site_count * sizeof(*out->sites));
	memcpy(out->numbers, module->numbers,
	       module->plan->function_count * sizeof(*out->numbers));
	return true;
}

/* Links all functions that have numbers. */
static bool copy_modules(struct patch_image *image,
			 const struct patch_image *parent)
{
	if (grow_array(image->modules, image->module_room,
		       parent->module_count) < 0)
		return false;
	for (size_t m = 0; m < parent->module_count; m++) {
		const struct image_module *module = &parent->modules[m];

		image->modules[m] = (struct image_module){ 0 };
		image->module_count = m + 1;
		if (!module->plan)
			continue;
		if (!copy_module(&image->modules[m], module))
			return false;
		for (size_t i = 0; i < module->plan->function_count; i++)
			if (module->numbers[i] &&
			    !link_function(image, module->numbers[i],
					   (uint32_t)m, (uint32_t)i))
				return false;
	}
	return true;
}

/* Whether all sites of the function are ours. */
static bool is_whole(const struct image_module *module, uint32_t function)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *f = &plan->functions[function];

	for (uint32_t i = 0; i < f->count; i++) {
		const struct image_site *site =
			&module->sites[sites_of(plan, f)[i]];

		if (site->state == SITE_PLAIN || site->is_half)
			return false;
	}
	return true;
}

/* A process that is forked in the middle of a change has functions that are
 * half connected: they are put back. */
static int settle(struct patch_image *image)
{
	struct change_list changes = { 0 };
	size_t kept = 0;
	int err = gather_changed(image, &changes);

	if (!err)
		err = find_states(image, &changes);
	for (size_t m = 0; !err && m < image->module_count; m++) {
		struct image_module *module = &image->modules[m];

		for (size_t i = 0;
		     module->plan && i < module->plan->function_count; i++)
			if (module->numbers[i] &&
			    !is_whole(module, (uint32_t)i))
				disconnect(image, (int)m, (uint32_t)i);
	}
	for (size_t i = 0; !err && i < changes.count; i++) {
		const struct change *change = &changes.list[i];
		const struct image_module *module =
			&image->modules[change->group];
		const struct code_plan *plan = module->plan;
		uint32_t function =
			plan->site_functions[plan->sites[change->index].first];

		if (!module->numbers[function])
			changes.list[kept++] = *change;
	}
	changes.count = kept;
	if (!err)
		err = write_changes(image, &changes, SITE_PLAIN);
	free(changes.list);
	return err;
}

struct patch_image *patch_image_fork(const struct patch_image *parent,
				     pid_t pid, int mem)
{
	struct patch_image *image =
		patch_image_new(parent->area, pid, mem, parent->registered);

	if (!image)
		return NULL;
	image->tell = parent->tell;
	image->tell_arg = parent->tell_arg;
	if (!copy_modules(image, parent) || settle(image) == -ENOMEM) {
		free_image(image);
		return NULL;
	}
	return image;
}

void patch_tell_to(struct patch_image *image, patch_tell *tell, void *arg)
{
	image->tell = tell;
	image->tell_arg = arg;
}
