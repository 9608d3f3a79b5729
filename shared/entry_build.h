/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_build - how to recognize a module of an entry build (`perfrec cc
 * --hooks=entry`), and where its sites are. dist/entry.s writes the note and
 * the table for gcc. For clang, perfrec cc links the note to the objects. A
 * module may be hostile and claim anything.
 *
 * The note is in a PT_NOTE of the module, with the owner ENTRY_NOTE_NAME and
 * the type ENTRY_NOTE_TYPE. Its data is one uint32_t, an enum entry_kind. A
 * module with objects of both compilers has a note for each kind. perfrec
 * does not change a module with XRay's table but without this note: XRay's own
 * runtime may write there.
 *
 * ENTRY_GCC: the section ENTRY_TABLE has an int32_t for each function of the
 * module, in any order. The address of the entry plus its value is the address
 * of a call at the start of the function. The call goes to the module's own
 * stub, the hidden symbol ENTRY_STUB, which is one `ret`. Objects have the call
 * as `FF 15`, through the GOT, or as `E8`. Linkers turn the first form into `67
 * E8 rel32` or `90 E8 rel32` (not with -Wl,--no-relax). The function starts at
 * the call, or four bytes earlier with `endbr64`. Each return and each tail
 * jump has `0F 1F 44 00 00` in front. No table lists these nops, and other nops
 * look the same.
 *
 * ENTRY_XRAY: ENTRY_XRAY_TABLE is XRay's section, with entries of 32 bytes: the
 * addresses of a sled and of its function, each relative to the field that
 * holds it (version 2). clang puts no sled before a return in inline assembler.
 */
#ifndef PERFREC_SHARED_ENTRY_BUILD_H
#define PERFREC_SHARED_ENTRY_BUILD_H

#define ENTRY_NOTE_NAME "perfrec"
#define ENTRY_NOTE_TYPE 1u

enum entry_kind {
	ENTRY_GCC = 1,
	ENTRY_XRAY = 2,
};

#define ENTRY_TABLE ".perfrec.entries"
#define ENTRY_STUB "__perfrec_entry"
#define ENTRY_XRAY_TABLE "xray_instr_map"

#endif
