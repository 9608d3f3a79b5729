/* SPDX-License-Identifier: Apache-2.0
 *
 * pprof_pack - a profile as the bytes of a pprof file that every server takes:
 * at most FIT_STACKS_MAX stacks and PPROF_BYTES_MAX bytes before they are
 * compressed, no '-' in the names of types, valid UTF-8.
 */
#ifndef PERFREC_COLLECTOR_PUSH_PPROF_PACK_H
#define PERFREC_COLLECTOR_PUSH_PPROF_PACK_H

#include <stdbool.h>

#include "collector/base/bytes.h"
#include "collector/push/fit.h"

/* Pyroscope refuses a larger profile. */
#define PPROF_BYTES_MAX (4u << 20)

/* Appends @view to @out, not compressed. 0 or -ENOMEM. */
int pprof_pack(const struct pprof *view, struct bytes *out);

/* Sets *@out to the gzipped bytes of @from, made to fit, and adds to @counts.
 * 0; -EFBIG: nothing makes it fit; or -ENOMEM. */
int pprof_pack_to_fit(const struct pprof *from, bool with_pid,
		      struct bytes *out, struct fit_counts *counts);

#endif
