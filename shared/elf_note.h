/* SPDX-License-Identifier: Apache-2.0
 *
 * elf_note - goes over the notes of an ELF file, in memory that may be hostile.
 *
 * A note is padded to 4 bytes. The notes of .note.gnu.property are padded to 8
 * bytes, and their sizes need no padding. mold puts sections of both alignments
 * into one PT_NOTE, whose alignment is then 8. Between them lie words of 0, and
 * no note begins with such a word.
 */
#ifndef PERFREC_SHARED_ELF_NOTE_H
#define PERFREC_SHARED_ELF_NOTE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shared/compiler.h"

struct elf_note {
	uint32_t type;
	uint32_t name_bytes, desc_bytes;
	const uint8_t *name, *desc; /* not aligned */
};

/* The note at *@at of the @bytes at @notes, or behind; *@at is then what
 * follows. False: there is no more. */
static inline bool elf_note_next(const uint8_t *notes, uint64_t bytes,
				 uint64_t *at, struct elf_note *out)
{
	Elf64_Nhdr head = { .n_namesz = 0 };
	uint64_t name, desc;

	while (*at <= bytes && bytes - *at >= sizeof(head)) {
		memcpy(&head, notes + *at, sizeof(head));
		if (head.n_namesz)
			break;
		*at += sizeof(head.n_namesz);
	}
	name = *at + sizeof(head);
	desc = name + ALIGN_UP((uint64_t)head.n_namesz, 4);
	if (!head.n_namesz || desc + head.n_descsz > bytes)
		return false;
	*out = (struct elf_note){ head.n_type, head.n_namesz, head.n_descsz,
				  notes + name, notes + desc };
	*at = desc + ALIGN_UP((uint64_t)head.n_descsz, 4);
	return true;
}

/* Whether @note has @type and the owner @name. */
static inline bool elf_note_is(const struct elf_note *note, const char *name,
			       uint32_t type)
{
	const uint64_t bytes = strlen(name) + 1;

	return note->type == type && note->name_bytes == bytes &&
	       !memcmp(note->name, name, bytes);
}

#endif
