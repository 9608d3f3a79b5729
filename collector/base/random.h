/* SPDX-License-Identifier: Apache-2.0
 *
 * random - unpredictable numbers for ids that must differ between recordings
 * and machines.
 */
#ifndef PERFREC_COLLECTOR_BASE_RANDOM_H
#define PERFREC_COLLECTOR_BASE_RANDOM_H

#include <stdint.h>

/* Any thread; cannot fail. */
uint64_t random_u64(void);

#endif
