/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/start/thread_end.h"

#include "preload/core/thread_watch.h"
#include "preload/cpu/cpu_timer.h"
#include "preload/flow/interpose_jump.h"
#include "preload/ring/slot.h"
#include "preload/start/thread_figures.h"
#include "preload/sync/interpose_sync.h"

static void thread_is_over(void)
{
	cpu_timer_thread_ends();
	thread_figures_tell();
	interpose_sync_thread_ends();
	slot_detach();
}

void thread_end_init(void)
{
	thread_watch_init(interpose_jump_thread_left, thread_is_over);
}
