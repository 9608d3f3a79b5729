/* SPDX-License-Identifier: Apache-2.0
 *
 * symbolize_wire - the messages between the collector and perfrec-symbolize.
 * The collector checks everything that perfrec-symbolize answers.
 *
 * "perfrec-symbolize lines" finds source lines. It starts with the open
 * descriptors of enum symbolize_fd. The collector writes one address a line, in
 * hex, to its stdin. perfrec-symbolize answers on stdout. For every address, in
 * the same order, it writes
 *
 *	a ADDRESS FRAMES
 *
 * (the address in hex, all other numbers in decimal), and then for each frame,
 * the innermost first,
 *
 *	f LINE START_LINE FUNCTION_BYTES FILE_BYTES
 *	FUNCTION
 *	FILE
 *
 * FUNCTION ends in ELF_FILE_MARK (elf_functions.h) and the file that declares
 * the function, if a function of another file may have its name.
 *
 * After the last address it writes the line "end" (SYMBOLIZE_END). An answer
 * without this line is incomplete. FUNCTION and FILE may hold any byte, also
 * newlines: only the lengths in the line "f" say where they stop. If something
 * goes wrong, perfrec-symbolize writes one line about it to stderr.
 *
 * "perfrec-symbolize fetch BUILD_ID" asks debuginfod for a debug file. Its
 * stdout is a socket. Over this socket it sends one byte, and with it a
 * descriptor of the debug file. If there is no such file, it sends nothing, and
 * writes one line about it to stderr.
 */
#ifndef PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H
#define PERFREC_COLLECTOR_NAMES_SYMBOLIZE_WIRE_H

/* Files may be O_PATH. */
enum symbolize_fd {
	SYMBOLIZE_ELF_FD = 3, /* the file with the debug information */
	SYMBOLIZE_ALT_FD = 4, /* what dwz moved out of it, or /dev/null */
	SYMBOLIZE_ROOT_FD = 5, /* the root folder of the paths that the debug
				* information names */
};

#define SYMBOLIZE_END "end"
#define SYMBOLIZE_FRAMES_MAX 256 /* of one address */
/* Bytes of a FUNCTION or a FILE. A longer one is cut. */
#define SYMBOLIZE_TEXT_MAX 16384

#endif
