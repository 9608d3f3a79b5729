/* SPDX-License-Identifier: Apache-2.0
 *
 * code_pack - a plan (code_plan.h) that is ready as a block of bytes, and back.
 * The bytes are for this machine and this build of perfrec only. Pure.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_PACK_H
#define PERFREC_COLLECTOR_CODE_CODE_PACK_H

#include <stddef.h>

struct bytes;
struct code_plan;

/* Appends @plan, which is ready, to @out. */
void code_pack(const struct code_plan *plan, struct bytes *out);

/*
 * The plan in the @size bytes at @from, which need not be aligned. Every number
 * in it is checked, so that its user stays within its tables; whether it is the
 * plan of a file, nobody checks. The caller frees *@out. 0, -EBADMSG or
 * -ENOMEM.
 */
int code_unpack(const void *from, size_t size, struct code_plan **out);

#endif
