/* SPDX-License-Identifier: Apache-2.0
 *
 * opener_serve - perfrec-reader as an opener (opener_wire.h).
 */
#ifndef PERFREC_COLLECTOR_NAMES_OPENER_SERVE_H
#define PERFREC_COLLECTOR_NAMES_OPENER_SERVE_H

/* Answers requests until stdout is closed. Returns the exit status. */
int opener_serve(void);

#endif
