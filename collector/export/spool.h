/* SPDX-License-Identifier: Apache-2.0
 *
 * spool - many texts that are written in turn, and in the end read one after
 * the other: those of the threads of a trace. They are in one temporary file
 * without a name, in TMPDIR or /tmp. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_SPOOL_H
#define PERFREC_COLLECTOR_EXPORT_SPOOL_H

#include <stdint.h>
#include <stdio.h>

struct spool;

/* 0; the caller ends *@out with spool_free(); or -errno. */
int spool_new(struct spool **out);
/* Frees *@spool, which may be NULL, with its file, and clears it. */
void spool_free(struct spool **spool);
/* The stream that writes text @number, which is made if there is none. NULL: no
 * memory. It is the spool's. */
FILE *spool_stream(struct spool *spool, uint32_t number);
/* Writes text @number to @out; nothing if there is none. Nothing may be written
 * to it any more. Returns 0, or -errno of the temporary file. */
int spool_copy(struct spool *spool, uint32_t number, FILE *out);

#endif
