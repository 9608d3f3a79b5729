/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/record/watches.h"

#include "collector/base/lock.h"
#include "collector/record/collector.h"
#include "shared/compiler.h"

uint32_t watches_most(uint64_t files)
{
	return (uint32_t)MIN(files / 2 / WATCH_FDS, UINT32_MAX);
}

bool watches_take(struct collector *collector, uint32_t held)
{
	uint32_t most, left;
	bool may;

	lock_acquire(&collector->lock);
	most = collector->watches.most;
	left = most - MIN(collector->watches.taken, most);
	may = collector->recording ? left > 0 : held < left;
	collector->watches.taken += may;
	lock_release(&collector->lock);
	return may;
}

void watches_take_root(struct collector *collector)
{
	lock_acquire(&collector->lock);
	collector->watches.taken++;
	lock_release(&collector->lock);
}

void watches_give(struct collector *collector)
{
	lock_acquire(&collector->lock);
	collector->watches.taken--;
	lock_release(&collector->lock);
}
