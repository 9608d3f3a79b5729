/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_fits - finds whether a profile can be sent as the collector wrote it:
 * then nothing has to decode and encode it.
 */
#ifndef PERFREC_COLLECTOR_PUSH_PPROF_FITS_H
#define PERFREC_COLLECTOR_PUSH_PPROF_FITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/read/pprof_read.h"

/* Returns true if the @count uncompressed bytes at @bytes are a valid profile
 * with the period type @period ("": none) within all limits of the servers
 * (fit.h). Also returns false for profiles that perfrec-collect does not write:
 * with unknown fields, names that need cleaning, or the labels "pid" and "tid".
 * Any thread. */
bool pprof_fits(const uint8_t *bytes, size_t count,
		const struct pprof_type *period);

#endif
