/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_code - parts of a crafted entry build, in a string of C that is inside of
 * a string (shared/entry_build.h).
 */
#ifndef PERFREC_TESTS_UNIT_ENTRY_CODE_H
#define PERFREC_TESTS_UNIT_ENTRY_CODE_H

/* Same as in dist/entry.s. */
#define ENTRIES(list)                                                     \
	".section .note.perfrec,\\\"a\\\",@note; .balign 4; .long 8,4,1;" \
	".asciz \\\"perfrec\\\"; .long 1; .previous;"                     \
	".section .perfrec.entries,\\\"a\\\",@progbits;" list "; .previous;"
#define STUB "stub: ret;"
#define NOP ".byte 0x0f, 0x1f, 0x44, 0, 0;"

#endif
