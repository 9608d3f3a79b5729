/* SPDX-License-Identifier: Apache-2.0
 *
 * figures_victim - the figures that the victim writes.
 */
#ifndef PERFREC_TESTS_SHIM_FIGURES_VICTIM_H
#define PERFREC_TESTS_SHIM_FIGURES_VICTIM_H

#include <inttypes.h>
#include <stdint.h>

struct victim_figures {
	uint64_t cpu_ns, delay_ns;
	uint64_t user_ns, system_ns;
	uint64_t minor_faults, major_faults;
};

#endif
