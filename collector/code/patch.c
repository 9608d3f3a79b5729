/* SPDX-License-Identifier: Apache-2.0
 *
 * patch - the state of each function and site of a process (patch.h). changes.c
 * writes the bytes.
 */
#include "collector/code/patch_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "collector/base/clock.h"
#include "collector/base/grow.h"
#include "collector/base/proc.h"
#include "collector/code/thunks.h"
#include "shared/function_shm.h"

#define PROC_BLOCK_BYTES 1024

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
	[PATCH_STUCK] = "its code was changed by others, or cannot be written",
	[PATCH_GONE] = "the process is gone",
	[PATCH_NO_MEMORY] = "the collector has no memory for it",
	[PATCH_RUNS] = "it came after the program had started",
	[PATCH_UNBOUND] = "nothing had bound its calls yet",
};

const char *patch_reason_text(enum patch_reason reason)
{
	return g_reasons[reason];
}

/* --- memory of a process ------------------------------------------------- */

int patch_mem_open(pid_t pid, uid_t uid)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (proc_is_of_user(pid, uid))
		return fd;
	close(fd);
	return -EPERM;
}

/* Returns true for a path that ends in "/NUMBER/mem". */
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

/* fstatfs() asks the file system, and a FUSE client may never answer. The
 * kernel itself answers FIGETBSZ: 1 KiB for /proc; a page or an error for file
 * systems that a user can mount. */
static bool has_blocks_of_proc(int fd)
{
	int bytes;

	return ioctl(fd, FIGETBSZ, &bytes) == 0 && bytes == PROC_BLOCK_BYTES;
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
	return names_memory(path) && has_blocks_of_proc(fd) &&
	       fstatfs(fd, &filesystem) == 0 &&
	       filesystem.f_type == PROC_SUPER_MAGIC &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

bool patch_mem_is_writable(int mem, uint64_t address)
{
	uint8_t byte;

	return memory_read(mem, address, &byte, 1) < 0 ||
	       memory_write(mem, address, &byte, 1) == 0;
}

/* --- images -------------------------------------------------------------- */

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
	free(module->on);
	free(module->batch);
	free(module->merged);
	*module = (struct image_module){ 0 };
}

/* Keeps the descriptor open. */
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
	size_t functions = plan->function_count + 1;
	size_t sites = plan->site_count + 1;

	module->sites = calloc(sites, sizeof(*module->sites));
	module->numbers = calloc(functions, sizeof(*module->numbers));
	module->on = calloc(functions, sizeof(*module->on));
	module->batch = calloc(functions, sizeof(*module->batch));
	module->merged = calloc(sites, sizeof(*module->merged));
	if (!module->sites || !module->numbers || !module->on ||
	    !module->batch || !module->merged) {
		release_module(module);
		return false;
	}
	module->plan = plan;
	for (size_t i = 0; i < plan->site_count; i++)
		if (plan->sites[i].count > 1)
			module->merged[module->merged_count++] = (uint32_t)i;
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

struct image_module *image_module_of(const struct patch_image *image,
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

int patch_image_mem(const struct patch_image *image)
{
	return image->mem;
}

struct patch_counts patch_counts(const struct patch_image *image)
{
	return image->counts;
}

void image_count_costs(struct patch_image *image,
		       const struct change_costs *costs, uint64_t start)
{
	image->counts.writes += costs->writes;
	image->counts.barriers += costs->barriers;
	image->counts.sites_written += costs->sites;
	image->counts.ns += clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}

void image_set_state(struct patch_image *image, struct image_site *site,
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

void image_set_foreign(struct patch_image *image, struct image_site *site)
{
	if (site->state != SITE_FOREIGN)
		image->counts.foreign++;
	image_set_state(image, site, SITE_FOREIGN);
}

/* --- numbers ------------------------------------------------------------- */

bool image_link_function(struct patch_image *image, uint32_t number,
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

	while (image->links && *at) {
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

void image_disconnect(struct patch_image *image, int index, uint32_t function)
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
	struct image_module *module = image_module_of(image, index);

	if (!module)
		return;
	for (size_t i = 0; i < module->plan->function_count; i++)
		image_disconnect(image, index, (uint32_t)i);
	for (size_t i = 0; i < module->plan->site_count; i++)
		image_set_state(image, &module->sites[i], SITE_PLAIN);
	release_module(module);
}

static uint32_t first_link(const struct patch_image *image, uint32_t number)
{
	return number < FUNCTIONS_MAX ? image->head[number] : 0;
}

bool patch_is_connected(const struct patch_image *image, uint32_t number)
{
	return first_link(image, number) != 0;
}

/* --- gathering changes --------------------------------------------------- */

struct change *image_add_change(struct change_list *changes,
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

enum site_state image_loudest(const struct image_module *module, uint32_t index)
{
	const struct code_site *site = &module->plan->sites[index];
	const uint32_t *functions = functions_of(module->plan, site);

	if (site->form == CODE_MOVED)
		return SITE_ON;
	for (uint32_t i = 0; i < site->count; i++)
		if (!module->numbers[functions[i]] ||
		    module->on[functions[i]] >=
			    (site->is_exit ? PATCH_BOTH : PATCH_ENTRIES))
			return SITE_ON;
	return SITE_OFF;
}

uint32_t image_count_connected(const struct image_module *module,
			       uint32_t index)
{
	const struct code_site *site = &module->plan->sites[index];
	const uint32_t *functions = functions_of(module->plan, site);
	uint32_t count = 0;

	for (uint32_t i = 0; i < site->count; i++)
		count += module->numbers[functions[i]] != 0;
	return count;
}

void image_fill_bytes(const struct image_module *module, uint32_t index,
		      enum site_state state, uint8_t *out)
{
	const struct code_site *site = &module->plan->sites[index];

	site_bytes(site->form, site->bytes, state, module->sites[index].operand,
		   out);
}

/* --- switching ----------------------------------------------------------- */

static int gather_switch(struct patch_image *image, struct change_list *changes,
			 const struct image_link *link)
{
	const struct image_module *module = &image->modules[link->module];
	const struct code_plan *plan = module->plan;
	const struct code_function *function = &plan->functions[link->function];

	for (uint32_t i = 0; i < function->count; i++) {
		uint32_t index = sites_of(plan, function)[i];
		enum site_state now = module->sites[index].state;
		enum site_state wanted = image_loudest(module, index);
		struct change *change;

		if (now == wanted || now == SITE_FOREIGN || now == SITE_PLAIN)
			continue;
		change = image_add_change(changes, module, index, link->module);
		if (!change)
			return -ENOMEM;
		image_fill_bytes(module, index, now, change->before);
		image_fill_bytes(module, index, wanted, change->after);
	}
	return 0;
}

/* The group of each change is its module. @plain: sites were restored. */
static void end_changes(struct patch_image *image,
			const struct change_list *changes, bool plain)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		const struct image_module *module =
			&image->modules[change->group];
		struct image_site *site = &module->sites[change->index];

		if (change->result != CHANGE_WRITTEN)
			image_set_foreign(image, site);
		else
			image_set_state(
				image, site,
				plain ? SITE_PLAIN
				      : image_loudest(module, change->index));
	}
}

static int write_changes(struct patch_image *image, struct change_list *changes,
			 bool plain)
{
	struct change_rules rules = {
		.mem = image->mem,
		.registered = image->registered,
		.to_hooks = plain,
	};
	struct change_costs costs = { 0 };
	uint64_t start = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
	int err;
	size_t kept;

	changes_sort(changes->list, changes->count);
	kept = 0;
	for (size_t i = 0; i < changes->count; i++)
		if (!kept ||
		    changes->list[i].address != changes->list[kept - 1].address)
			changes->list[kept++] = changes->list[i];
	changes->count = kept;
	err = changes_write(&rules, changes->list, changes->count, &costs);
	if (!err)
		end_changes(image, changes, plain);
	image->gone |= err == -ESRCH;
	image_count_costs(image, &costs, start);
	return err;
}

/* Adopts a foreign site with our bytes: a debugger removed its breakpoint. */
static void look_again(struct patch_image *image,
		       const struct image_module *module, uint32_t index)
{
	const struct code_site *plain = &module->plan->sites[index];
	struct image_site *site = &module->sites[index];
	uint8_t now[CODE_SITE_BYTES] = { 0 };
	enum site_state state;
	bool is_half;

	if (site->state != SITE_FOREIGN ||
	    memory_read(image->mem, module->bias + plain->address, now,
			site_form(plain->form)->length) < 0)
		return;
	state = site_state_of(plain->form, plain->bytes, site->operand, now,
			      &is_half);
	if (state == SITE_ON || (state == SITE_OFF && !is_half))
		image_set_state(image, site, state);
}

static bool has_foreign(const struct patch_image *image,
			const struct image_link *link)
{
	const struct image_module *module = &image->modules[link->module];
	const struct code_plan *plan = module->plan;
	const struct code_function *function = &plan->functions[link->function];

	for (uint32_t i = 0; i < function->count; i++)
		if (module->sites[sites_of(plan, function)[i]].state ==
		    SITE_FOREIGN)
			return true;
	return false;
}

bool patch_is_stuck(const struct patch_image *image, uint32_t number)
{
	for (uint32_t link = first_link(image, number); link;
	     link = image->links[link - 1].next)
		if (has_foreign(image, &image->links[link - 1]))
			return true;
	return false;
}

static void look_again_at(struct patch_image *image,
			  const struct image_link *link)
{
	const struct image_module *module = &image->modules[link->module];
	const struct code_plan *plan = module->plan;
	const struct code_function *function = &plan->functions[link->function];

	for (uint32_t i = 0; i < function->count; i++)
		look_again(image, module, sites_of(plan, function)[i]);
}

static void want_on(struct patch_image *image, uint32_t number,
		    enum patch_sites on)
{
	for (uint32_t link = first_link(image, number); link;
	     link = image->links[link - 1].next) {
		const struct image_link *it = &image->links[link - 1];

		image->modules[it->module].on[it->function] = (uint8_t)on;
	}
	thunk_area_mute(image->area, number, on == PATCH_NEITHER);
}

static int write_wanted(struct patch_image *image, const uint32_t *numbers,
			size_t count)
{
	struct change_list changes = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		for (uint32_t link = first_link(image, numbers[i]);
		     !err && link; link = image->links[link - 1].next)
			err = gather_switch(image, &changes,
					    &image->links[link - 1]);
	if (!err)
		err = write_changes(image, &changes, false);
	free(changes.list);
	return err;
}

int patch_switch(struct patch_image *image, const uint32_t *numbers,
		 size_t count, enum patch_sites on)
{
	bool any_stuck = false;
	int err;

	if (image->gone)
		return -ESRCH;
	for (size_t i = 0; i < count; i++) {
		for (uint32_t link = first_link(image, numbers[i]); link;
		     link = image->links[link - 1].next)
			look_again_at(image, &image->links[link - 1]);
		want_on(image, numbers[i],
			patch_is_stuck(image, numbers[i]) ? PATCH_NEITHER : on);
	}
	err = write_wanted(image, numbers, count);
	for (size_t i = 0; !err && on && i < count; i++)
		if (patch_is_stuck(image, numbers[i])) {
			want_on(image, numbers[i], PATCH_NEITHER);
			any_stuck = true;
		}
	return any_stuck ? write_wanted(image, numbers, count) : err;
}

/* --- restoring ----------------------------------------------------------- */

/* Includes foreign sites, but not those of moved functions. */
static int gather_module(const struct patch_image *image, size_t m,
			 struct change_list *changes)
{
	const struct image_module *module = &image->modules[m];

	for (size_t i = 0; module->plan && i < module->plan->site_count; i++) {
		struct change *change;

		if (module->sites[i].state == SITE_PLAIN ||
		    module->plan->sites[i].form == CODE_MOVED)
			continue;
		change = image_add_change(changes, module, (uint32_t)i,
					  (uint32_t)m);
		if (!change)
			return -ENOMEM;
		image_fill_bytes(module, (uint32_t)i, SITE_PLAIN,
				 change->after);
	}
	return 0;
}

static int gather_changed(const struct patch_image *image,
			  struct change_list *changes)
{
	int err = 0;

	for (size_t m = 0; !err && m < image->module_count; m++)
		err = gather_module(image, m, changes);
	return err;
}

static enum site_state found_state(const struct patch_image *image,
				   const struct change *change, bool *is_half)
{
	const struct image_module *module = &image->modules[change->group];
	const struct code_site *plain = &module->plan->sites[change->index];
	const struct image_site *site = &module->sites[change->index];
	enum site_state state;

	*is_half = false;
	if (change->result != CHANGE_WRITTEN)
		return SITE_FOREIGN;
	state = site_state_of(plain->form, plain->bytes, site->operand,
			      change->before, is_half);
	if (state != SITE_FOREIGN)
		return state;
	state = site_state_of(plain->form, plain->bytes, site->last_operand,
			      change->before, is_half);
	*is_half = true;
	return state;
}

/* Updates the states of sites from memory. Keeps only changes of on and off
 * sites. */
static int find_states(struct patch_image *image, struct change_list *changes)
{
	size_t kept = 0;
	int err;

	changes_sort(changes->list, changes->count);
	err = changes_read(image->mem, changes->list, changes->count);
	image->gone |= err == -ESRCH;
	for (size_t i = 0; !err && i < changes->count; i++) {
		const struct change *change = &changes->list[i];
		bool is_half;
		enum site_state state = found_state(image, change, &is_half);
		struct image_site *site =
			&image->modules[change->group].sites[change->index];

		if (state == SITE_FOREIGN)
			image_set_foreign(image, site);
		else
			image_set_state(image, site, state);
		site->is_half = is_half && state != SITE_FOREIGN;
		if (state == SITE_ON || state == SITE_OFF)
			changes->list[kept++] = *change;
	}
	changes->count = kept;
	return err;
}

/* The jumps of moved functions and the slots stay; their thunks no longer do
 * anything. */
static void mute_moved(struct patch_image *image, size_t m)
{
	const struct image_module *module = &image->modules[m];
	const struct code_plan *plan = module->plan;

	for (size_t i = 0; plan && i < plan->site_count; i++) {
		uint32_t function = *functions_of(plan, &plan->sites[i]);

		if (plan->sites[i].form != CODE_MOVED &&
		    plan->sites[i].form != CODE_SLOT)
			continue;
		thunk_area_mute(image->area, module->numbers[function], true);
		image_set_state(image, &module->sites[i], SITE_PLAIN);
	}
}

int patch_restore(struct patch_image *image)
{
	struct change_list changes = { 0 };
	int err = image->gone ? -ESRCH : gather_changed(image, &changes);

	if (!err)
		err = find_states(image, &changes);
	if (!err)
		err = write_changes(image, &changes, true);
	if (!err) {
		for (size_t m = 0; m < image->module_count; m++) {
			const struct code_plan *plan = image->modules[m].plan;

			mute_moved(image, m);
			for (size_t i = 0; plan && i < plan->function_count;
			     i++)
				image_disconnect(image, (int)m, (uint32_t)i);
		}
	}
	free(changes.list);
	return err;
}

/* --- forked processes ---------------------------------------------------- */

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
	memcpy(out->on, module->on,
	       module->plan->function_count * sizeof(*out->on));
	return true;
}

static bool copy_modules(struct patch_image *image,
			 const struct patch_image *parent)
{
	if (grow_array(image->modules, image->module_room,
		       parent->module_count) < 0)
		return false;
	image->counts.sites = parent->counts.sites;
	image->counts.off = parent->counts.off;
	image->counts.foreign = parent->counts.foreign;
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
			    !image_link_function(image, module->numbers[i],
						 (uint32_t)m, (uint32_t)i))
				return false;
	}
	return true;
}

/* Returns true if no site of the function is plain or half changed. */
static bool is_whole(const struct image_module *module, uint32_t function)
{
	const struct code_plan *plan = module->plan;
	const struct code_function *f = &plan->functions[function];

	for (uint32_t i = 0; i < f->count; i++) {
		const struct image_site *site =
			&module->sites[sites_of(plan, f)[i]];

		if (plan->sites[sites_of(plan, f)[i]].form != CODE_SLOT &&
		    (site->state == SITE_PLAIN || site->is_half))
			return false;
	}
	return true;
}

/* Disconnects incomplete functions and all functions that share their sites. */
static void disconnect_halves(struct patch_image *image, size_t m)
{
	struct image_module *module = &image->modules[m];
	bool again = true;

	for (size_t i = 0; i < module->plan->function_count; i++)
		if (module->numbers[i] && !is_whole(module, (uint32_t)i))
			image_disconnect(image, (int)m, (uint32_t)i);
	while (again) {
		again = false;
		for (size_t i = 0; i < module->merged_count; i++) {
			uint32_t index = module->merged[i];
			const struct code_site *site =
				&module->plan->sites[index];
			const uint32_t *functions =
				functions_of(module->plan, site);
			uint32_t connected =
				image_count_connected(module, index);

			if (!connected ||
			    connected == module->sites[index].connected)
				continue;
			for (uint32_t k = 0; k < site->count; k++)
				image_disconnect(image, (int)m, functions[k]);
			again = true;
		}
	}
}

/* A fork may catch functions half connected; these are restored. */
static int settle_image(struct patch_image *image)
{
	struct change_list changes = { 0 };
	size_t kept = 0;
	int err = gather_changed(image, &changes);

	if (!err)
		err = find_states(image, &changes);
	for (size_t m = 0; !err && m < image->module_count; m++)
		if (image->modules[m].plan)
			disconnect_halves(image, m);
	for (size_t i = 0; !err && i < changes.count; i++) {
		const struct change *change = &changes.list[i];

		if (!image_count_connected(&image->modules[change->group],
					   change->index))
			changes.list[kept++] = *change;
	}
	changes.count = kept;
	if (!err)
		err = write_changes(image, &changes, true);
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
	if (!copy_modules(image, parent) || settle_image(image) == -ENOMEM) {
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
