/* SPDX-License-Identifier: Apache-2.0
 *
 * patch_none - stands in for patch.c, which is on its way: nothing is written.
 * Weak, so that patch.c takes its place as soon as it is there.
 */
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#include "collector/patch/patch.h"

#define WEAK __attribute__((weak))

WEAK const char *patch_reason_text(enum patch_reason reason)
{
	(void)reason;
	return "nothing is patched yet";
}

WEAK int patch_mem_open(pid_t pid)
{
	(void)pid;
	return -ENOSYS;
}

WEAK bool patch_mem_is_good(int fd)
{
	(void)fd;
	return false;
}

WEAK struct patch_image *patch_image_new(struct thunk_area *area, pid_t pid,
					 int mem, bool registered)
{
	(void)area;
	(void)pid;
	(void)mem;
	(void)registered;
	return NULL;
}

WEAK struct patch_image *patch_image_fork(const struct patch_image *parent,
					  pid_t pid, int mem)
{
	(void)parent;
	(void)pid;
	(void)mem;
	return NULL;
}

WEAK void patch_image_free(struct patch_image *image)
{
	(void)image;
}

WEAK int patch_module_add(struct patch_image *image,
			  const struct code_plan *plan, uint64_t bias,
			  ino_t inode)
{
	(void)image;
	(void)plan;
	(void)bias;
	(void)inode;
	return -ENOSYS;
}

WEAK void patch_module_forget(struct patch_image *image, int module)
{
	(void)image;
	(void)module;
}

WEAK size_t patch_connect(struct patch_image *image,
			  struct patch_function *list, size_t count, bool held)
{
	(void)image;
	(void)held;
	for (size_t i = 0; i < count; i++)
		list[i].reason = PATCH_NO_WRITE;
	return 0;
}

WEAK int patch_switch(struct patch_image *image, const uint32_t *numbers,
		      size_t count, bool on)
{
	(void)image;
	(void)numbers;
	(void)count;
	(void)on;
	return -ENOSYS;
}

WEAK int patch_restore_from(int mem, const void *entries, size_t bytes,
			    struct patch_restored *restored)
{
	(void)mem;
	(void)entries;
	(void)bytes;
	(void)restored;
	return 0;
}

WEAK void patch_tell_to(struct patch_image *image, patch_tell *tell, void *arg)
{
	(void)image;
	(void)tell;
	(void)arg;
}

WEAK void patch_export(const struct patch_image *image, struct bytes *out)
{
	(void)image;
	(void)out;
}

WEAK int patch_restore(struct patch_image *image)
{
	(void)image;
	return 0;
}
