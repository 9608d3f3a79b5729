/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/family.h"

#include <string.h>

#include "collector/names/modules.h"
#include "collector/record/process.h"
#include "collector/record/tracks.h"
#include "shared/atomic.h"
#include "shared/compiler.h"

_Static_assert(sizeof(((struct process_entry *)NULL)->name) ==
		       FAMILY_NAME_BYTES,
	       "a name fits");

struct kin family_kin(const struct process *process)
{
	struct kin kin = {
		.pid = process->pid,
		.inner_pid = process->inner_pid,
		.foreign = process->foreign,
		.modules = process->modules,
		.tracks = process->tracks,
	};

	memcpy(kin.name, process->entry->name, sizeof(kin.name));
	return kin;
}

static void kin_release(struct kin *kin)
{
	if (kin->modules)
		modules_put(&kin->modules);
	tracks_put(&kin->tracks);
	*kin = (struct kin){ 0 };
}

void family_keep(struct family *family, const struct process *process)
{
	struct kin *to;

	if (!process->forked)
		to = &family->root;
	/* relaxed: its threads have been drained, and finished since */
	else if (atom_load_rlx(&process->has_forked))
		to = &family->ended[family->count++ % FAMILY_MAX];
	else
		return;
	kin_release(to);
	*to = family_kin(process);
	modules_get(to->modules);
	tracks_get(to->tracks);
}

const struct kin *family_find(const struct family *family, pid_t inner_pid)
{
	size_t last = family->count, first = 0;

	if (last > FAMILY_MAX)
		first = last - FAMILY_MAX;
	while (last-- > first)
		if (family->ended[last % FAMILY_MAX].inner_pid == inner_pid)
			return &family->ended[last % FAMILY_MAX];
	if (family->root.modules && family->root.inner_pid == inner_pid)
		return &family->root;
	return NULL;
}

const struct kin *family_any(const struct family *family)
{
	if (family->root.modules)
		return &family->root;
	return family->count ? &family->ended[(family->count - 1) % FAMILY_MAX]
			     : NULL;
}

void family_release(struct family *family)
{
	size_t i;

	kin_release(&family->root);
	for (i = 0; i < FAMILY_MAX; i++)
		kin_release(&family->ended[i]);
}
