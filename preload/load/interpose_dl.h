/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_dl - C functions that the assembly wrappers call.
 */
#ifndef PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H
#define PERFREC_PRELOAD_LOAD_INTERPOSE_DL_H

/* The program calls the function of this name. Each returns the next
 * definition, for a tail jump. */
void *interpose_dlopen(const char *file, int mode);
void *interpose_dlmopen(void);
void *interpose_dlsym(void);
void *interpose_dlvsym(void);

#endif
