/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl - what the assembly of dlopen() and dlmopen() calls in C.
 */
#ifndef PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H
#define PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H

/* The program calls the function of this name. Returns the next definition of
 * it, for a tail jump. */
void *interpose_dlopen(const char *file, int mode);
void *interpose_dlmopen(void);
void *interpose_dlsym(void);
void *interpose_dlvsym(void);

#endif
