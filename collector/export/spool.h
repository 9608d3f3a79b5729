/* SPDX-License-Identifier: Apache-2.0
 *
 * spool - many texts that are written alternately and later read one by one,
 * such as those of threads. All are in one unnamed temporary file in TMPDIR or
 * /tmp. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_EXPORT_SPOOL_H
#define PERFREC_COLLECTOR_EXPORT_SPOOL_H

#include <stdint.h>
#include <stdio.h>

struct spool;

/* Returns 0, and the caller frees *@out; or -errno. */
int spool_new(struct spool **out);
/* Frees *@spool (may be NULL) with its file, and sets it to NULL. */
void spool_free(struct spool **spool);
/* Returns the stream of text @number, created on first use; NULL without
 * memory. The spool owns it. */
FILE *spool_stream(struct spool *spool, uint32_t number);
/* Copies text @number to @out, or nothing if there is none. No more may be
 * written to the text. Returns 0, or -errno of the temporary file. */
int spool_copy(struct spool *spool, uint32_t number, FILE *out);

#endif
