/* SPDX-License-Identifier: Apache-2.0
 *
 * entry_build - how a module of an entry build (`perfrec cc --hooks=entry`) is
 * known, and where its sites are. dist/entry.s writes it for gcc; perfrec cc
 * links the note to what clang compiles. The module may be hostile: it may
 * claim anything.
 *
 * The note: in a PT_NOTE of the module, of the owner ENTRY_NOTE_NAME and the
 * type ENTRY_NOTE_TYPE; it has one uint32_t, an enum entry_kind. A module with
 * objects of both compilers has a note for each kind. XRay's table without
 * this note is not ours: XRay's own runtime may write there.
 *
 * ENTRY_GCC: the section ENTRY_TABLE has an int32_t for each function of the
 * module, in any order. The address of the entry plus its value is that of the
 * call at the begin of the function, which calls the module's own stub, one
 * `ret`, the hidden symbol ENTRY_STUB. In an object it is `FF 15`, through the
 * GOT, or `E8`; linkers make `67 E8 rel32` or `90 E8 rel32` of the first (not
 * with -Wl,--no-relax). The function begins there, or four bytes before with
 * `endbr64`. Before each return and each tail jump stands
 * `0F 1F 44 00 00`. Nothing says where these are; others look the same.
 *
 * ENTRY_XRAY: the section ENTRY_XRAY_TABLE is that of XRay: entries of 32
 * bytes, with the address of a sled and of its function, both relative to
 * where they stand (version 2). clang leaves returns in inline assembler
 * without a sled.
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
