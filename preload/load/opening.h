/* SPDX-License-Identifier: Apache-2.0
 *
 * opening - lets dlopen() wait, before it runs code of new modules, until the
 * collector has moved their functions (--patch).
 */
#ifndef PERFREC_PRELOAD_LOAD_OPENING_H
#define PERFREC_PRELOAD_LOAD_OPENING_H

#include <stdbool.h>
#include <stdint.h>

/* From now on each dlopen() waits for @plan_ns at most, and then until the
 * collector has finished a write into the text of a new module, but no longer
 * than @text_ns. The hello calls it once, if the collector requests it. Returns
 * false where that is not possible. Makes system calls. */
bool opening_begin(uint64_t plan_ns, uint64_t text_ns);

#endif
