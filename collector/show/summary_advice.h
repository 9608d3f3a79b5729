/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_advice - which functions to exclude from a recording that took much
 * of the run, so that its times are truer.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_ADVICE_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_ADVICE_H

#include <stdio.h>

#include "collector/read/summary_read.h"

/* Print to @out the options --exclude that would make recording @summary's
 * command cheaper, each on a line that can be pasted together with the next; or
 * nothing, if it was cheap enough or no option helps. */
void summary_advice_print(const struct summary *summary, FILE *out);

#endif
