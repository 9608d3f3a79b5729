/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl - what the assembly of dlopen() and dlmopen() calls in C.
 */
#ifndef PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H
#define PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H

/* The function was called. Returns the next definition, for a tail jump. */
void *interpose_dlopen(void);
void *interpose_dlmopen(void);

#endif
