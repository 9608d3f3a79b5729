/* SPDX-License-Identifier: Apache-2.0
 *
 * summary_advice - what to do about a recording that took much of the run.
 */
#ifndef PERFREC_COLLECTOR_SHOW_SUMMARY_ADVICE_H
#define PERFREC_COLLECTOR_SHOW_SUMMARY_ADVICE_H

#include <stdio.h>

#include "collector/read/summary_read.h"

/* Print to @out the option that makes recording @summary's command cheap; or
 * nothing, if it was cheap enough or had that option. */
void summary_advice_print(const struct summary *summary, FILE *out);

#endif
