/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/thread.h"

__thread struct thread_state t_thread = { .epoch = EPOCH_NONE };
long g_rseq_cs = T_NO_RSEQ;
