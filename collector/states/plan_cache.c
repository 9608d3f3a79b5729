/* SPDX-License-Identifier: Apache-2.0
 *
 * plan_cache - the items of a file are bytes: a struct plan_key, and the output
 * of code_pack().
 */

#include "collector/states/plan_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collector/base/bytes.h"
#include "collector/code/code_pack.h"
#include "collector/code/code_plan.h"
#include "collector/output/cache_files.h"

_Static_assert(sizeof(struct plan_key) == 96, "no gaps");

static const struct cache_kind g_kind = {
	.prefix = CACHE_PREFIX_PLANS,
	.magic = "perfrecP",
	.version = 3,
	.item_bytes = 1,
	.items_max = PLAN_CACHE_BYTES_MAX,
	.files_max = PLAN_CACHE_FILES_MAX,
};

int plan_cache_key(int fd, bool moves, struct plan_key *key)
{
	struct stat file, self;

	if (fstat(fd, &file) < 0 || stat("/proc/self/exe", &self) < 0)
		return -errno;
	*key = (struct plan_key){
		.device = file.st_dev,
		.inode = file.st_ino,
		.size = (uint64_t)file.st_size,
		.moves = moves,
		.changed = { file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
			     file.st_ctim.tv_sec, file.st_ctim.tv_nsec },
		.perfrec = { self.st_ino, (uint64_t)self.st_size,
			     (uint64_t)self.st_mtim.tv_sec,
			     (uint64_t)self.st_mtim.tv_nsec },
	};
	return 0;
}

int plan_cache_load(const char *build_id, const struct plan_key *key,
		    struct code_plan **out)
{
	void *bytes;
	uint32_t count;
	int err = cache_file_load(&g_kind, build_id, &bytes, &count);

	*out = NULL;
	if (!err && count < sizeof(*key))
		err = -EBADMSG;
	if (!err && memcmp(bytes, key, sizeof(*key)) != 0)
		err = -ENOENT;
	if (!err)
		err = code_unpack((const char *)bytes + sizeof(*key),
				  count - sizeof(*key), out);
	free(bytes);
	return err;
}

int plan_cache_store(const char *build_id, const struct plan_key *key,
		     const struct code_plan *plan)
{
	struct bytes bytes = { 0 };
	int err;

	bytes_put(&bytes, key, sizeof(*key));
	code_pack(plan, &bytes);
	if (bytes.failed)
		err = -ENOMEM;
	else if (bytes.count > PLAN_CACHE_BYTES_MAX)
		err = -EFBIG;
	else
		err = cache_file_store(&g_kind, build_id, bytes.at,
				       (uint32_t)bytes.count);
	bytes_release(&bytes);
	return err;
}
