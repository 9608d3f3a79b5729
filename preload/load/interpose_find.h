/* SPDX-License-Identifier: Apache-2.0
 *
 * interpose_find - shows unwinders the frame descriptions of moved functions.
 */
#ifndef PERFREC_PRELOAD_LOAD_INTERPOSE_FIND_H
#define PERFREC_PRELOAD_LOAD_INTERPOSE_FIND_H

/* As the functions of interpose_dl.h, for dl_iterate_phdr(): returns the function
 * to jump to. Any context. */
void *interpose_dl_iterate_phdr(void);

#endif
