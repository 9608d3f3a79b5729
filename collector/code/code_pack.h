/* SPDX-License-Identifier: Apache-2.0
 *
 * code_pack - serializes finished plans (code_plan.h), for this machine and
 * this build of perfrec only. Pure.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PACK_H
#define PERFREC_COLLECTOR_CODE_CODE_PACK_H

#include <stddef.h>

struct bytes;
struct code_plan;

void code_pack(const struct code_plan *plan, struct bytes *out);

/* Every index is checked, so users of the plan stay within its tables. The
 * caller must know that the plan belongs to its file. @from need not be
 * aligned. Returns 0, -EBADMSG or -ENOMEM. The caller frees *@out. */
int code_unpack(const void *from, size_t size, struct code_plan **out);

#endif
