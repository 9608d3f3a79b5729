/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/drain/thread_figures.h"

#include "shared/atomic.h"
#include "shared/ring_shm.h"

bool thread_figures_told(const struct slot_shm *slot, struct task_times *out,
			 uint64_t *ns)
{
	/* order: acq, ENDTOLD: the figures are whole */
	uint32_t told = atom_load_acq(&slot->end_told);

	*out = (struct task_times){ 0 };
	*ns = 0;
	if (!(told & END_TOLD))
		return false;
	/* relaxed, all: ENDTOLD orders them */
	*ns = atom_load_rlx(&slot->end_ns);
	out->on_cpu_ns = atom_load_rlx(&slot->end_cpu_ns);
	out->delay_ns = atom_load_rlx(&slot->end_delay_ns);
	out->user_ns = atom_load_rlx(&slot->end_user_ns);
	out->system_ns = atom_load_rlx(&slot->end_system_ns);
	out->minor_faults = atom_load_rlx(&slot->end_minor_faults);
	out->major_faults = atom_load_rlx(&slot->end_major_faults);
	out->has_delay = told & END_HAS_DELAY;
	return true;
}
