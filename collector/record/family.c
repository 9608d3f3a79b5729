/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/family.h"

#include "collector/names/modules.h"
#include "collector/record/tracks.h"
#include "shared/compiler.h"

static void kin_release(struct kin *kin)
{
	if (kin->modules)
		modules_put(&kin->modules);
	tracks_put(&kin->tracks);
	*kin = (struct kin){ 0 };
}

static void kin_replace(struct kin *to, const struct kin *from)
{
	kin_release(to);
	*to = *from;
	modules_get(to->modules);
	tracks_get(to->tracks);
}

void family_keep_root(struct family *family, const struct kin *root)
{
	kin_replace(&family->root, root);
}

void family_keep(struct family *family, const struct kin *ended)
{
	kin_replace(&family->ended[family->count++ % FAMILY_MAX], ended);
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
	kin_release(&family->root);
	for (size_t i = 0; i < FAMILY_MAX; i++)
		kin_release(&family->ended[i]);
}
