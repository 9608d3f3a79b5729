/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_wire - messages between the collector and perfrec-symbolize. The
 * collector checks all answers.
 *
 * "perfrec-symbolize lines" finds source lines, with the descriptors of enum
 * symbolize_fd. It reads one hex address a line from stdin. For each, in order,
 * it writes to stdout
 *
 *	a ADDRESS FRAMES
 *
 * (hex, decimal), and for each frame, innermost first,
 *
 *	f LINE START_LINE FUNCTION_BYTES FILE_BYTES
 *	FUNCTION
 *	FILE
 *
 * FUNCTION ends in ELF_FILE_MARK (elf_functions.h) and the declaring file if
 * the name may be ambiguous. FUNCTION and FILE may have any bytes, including
 * newlines; only the lengths delimit them. The last line is "end"
 * (SYMBOLIZE_END); without it, the answer is incomplete.
 *
 * "perfrec-symbolize calls" finds the arguments of the functions that start at
 * the addresses, or whose code starts there behind the sled of an entry build,
 * in the same way. For each it writes
 *
 *	c ADDRESS VALUES
 *
 * and for each value, first the result (call_layout.h; VALUES is 0 if the
 * function is unknown),
 *
 *	v KIND BYTES WORD ENUMERATORS NAME_BYTES
 *	NAME
 *
 * and for each enumerator
 *
 *	n VALUE NAME_BYTES
 *	NAME
 *
 * "perfrec-symbolize fetch BUILD_ID" gets a debug file from debuginfod. It
 * sends one byte with the descriptor over stdout, a socket; nothing if there is
 * no such file.
 *
 * Errors go to stderr as one line.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H

enum symbolize_fd {
	SYMBOLIZE_ELF_FD = 3, /* debug information */
	SYMBOLIZE_ALT_FD = 4, /* dwz file, or /dev/null */
	SYMBOLIZE_ROOT_FD = 5, /* root of paths in debug information */
};

#define SYMBOLIZE_END "end"
#define SYMBOLIZE_FRAMES_MAX 256 /* per address */
/* Longer FUNCTIONs and FILEs are cut. */
#define SYMBOLIZE_TEXT_MAX 16384

#endif
