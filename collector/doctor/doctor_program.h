/* SPDX-License-Identifier: Apache-2.0
 *
 * doctor_program - says which functions of a program or library
 * `perfrec record --patch` can record as they are, and why not the rest.
 */
#ifndef PERFREC_COLLECTOR_DOCTOR_DOCTOR_PROGRAM_H
#define PERFREC_COLLECTOR_DOCTOR_DOCTOR_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

/* Prints to @out what is known about the file @path, as JSON if @json. Reads the
 * whole code: a second or two for 100,000 functions. Returns 0, -EIO if @out
 * cannot be written, or another -errno after one line in the log. One thread.
 */
int doctor_look_at_program(const char *path, bool json, FILE *out);

#endif
