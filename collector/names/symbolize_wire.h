/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_wire - what the collector and perfrec-symbolize say to each
 * other. The collector trusts nothing of what comes back.
 *
 * perfrec-symbolize lines: stdin has one address a line, in hex; descriptors
 * are as below. stdout has, for every address in the same order,
 *
 *	a ADDRESS FRAMES
 *
 * (address in hex, the rest in decimal) and for each frame, innermost first,
 *
 *	f LINE START_LINE FUNCTION_BYTES FILE_BYTES
 *	FUNCTION
 *	FILE
 *
 * and after the last one "end". Function and file may hold any byte: only
 * their lengths say where they stop. Nothing else is written, so what lacks
 * the "end" is incomplete. What went wrong is one line on stderr.
 *
 * perfrec-symbolize fetch BUILD_ID: asks debuginfod. stdout is a socket, over
 * which one byte comes with a descriptor of the debug file; none when there
 * is no such file, with one line on stderr.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H

enum symbolize_fd {
	SYMBOLIZE_ELF_FD = 3, /* the file with the debug information */
	SYMBOLIZE_ALT_FD = 4, /* what dwz moved out of it, or /dev/null */
	SYMBOLIZE_ROOT_FD = 5, /* the root folder of its paths */
};

#define SYMBOLIZE_END "end"
#define SYMBOLIZE_FRAMES_MAX 256
#define SYMBOLIZE_TEXT_MAX 4096 /* bytes; longer ones are cut */

#endif
