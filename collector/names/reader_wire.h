/* SPDX-License-Identifier: Apache-2.0
 *
 * reader_wire - messages between the collector and perfrec-reader of the same
 * build. The collector checks each answer, since a hostile file may control
 * perfrec-reader.
 *
 * Its stdout is a socket. A struct reader_request comes with descriptors
 * (SCM_RIGHTS): the file, and for READER_FUNCTIONS and READER_OBJECTS the file
 * with its .symtab, if separate. The answer is a struct reader_reply and then its parts.
 * perfrec-reader ends when the socket is closed.
 *
 *	question          parts of the answer
 *	READER_HEADERS    reader_headers, an array of reader_segment
 *	READER_DEBUG      reader_debug
 *	READER_FUNCTIONS  an array of elf_function, their strings
 *	READER_OBJECTS    the same, of variables
 *	READER_BOUNDS     an array of elf_bound
 *	READER_CHECKSUM   none: the checksum is in `value`
 *	READER_BYTES      the bytes: fewer at the end of the file
 *	READER_ASSEMBLY   an array of elf_instruction, their strings
 */
#ifndef PERFREC_COLLECTOR_NAMES_READER_WIRE_H
#define PERFREC_COLLECTOR_NAMES_READER_WIRE_H

#include <stdint.h>

enum reader_question {
	READER_HEADERS,
	READER_DEBUG,
	READER_FUNCTIONS,
	READER_OBJECTS,
	READER_BOUNDS,
	READER_CHECKSUM,
	READER_BYTES,
	READER_ASSEMBLY,
};

#define READER_FILES_MAX 2 /* per request */
#define READER_PARTS_MAX 2 /* per answer */
#define READER_TEXT_BYTES 128
#define READER_BYTES_MAX 65536

struct reader_request {
	uint32_t question; /* enum reader_question */
	uint32_t files;
	/* READER_BYTES, READER_ASSEMBLY: the range. READER_FUNCTIONS and
	 * _OBJECTS: .gnu_debugdata with the .symtab; 0 bytes: none. */
	uint64_t offset, bytes;
	uint64_t vaddr; /* READER_ASSEMBLY: of the range */
};

struct reader_reply {
	int32_t err; /* 0, or -errno without parts */
	uint32_t value;
	char why[READER_TEXT_BYTES];
	uint64_t bytes[READER_PARTS_MAX];
};

struct reader_headers {
	char build_id[129];
	uint8_t is_instrumented;
};

struct reader_segment {
	uint64_t offset, vaddr, bytes, memory_bytes;
	uint64_t is_executable;
};

struct reader_debug {
	uint8_t has_lines, has_symbols;
	char build_id[129];
	char link[256];
	uint32_t link_crc;
	char alt[1024];
	char alt_build_id[129];
	uint64_t mini_offset, mini_bytes;
};

#endif
