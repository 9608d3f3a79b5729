/* SPDX-License-Identifier: Apache-2.0
 *
 * code_file - the loaded segments and relocations of an ELF file. The file is
 * hostile: all offsets are checked and all tables have limits. It is read once,
 * so it cannot change later.
 */
#ifndef PERFREC_COLLECTOR_CODE_CODE_FILE_H
#define PERFREC_COLLECTOR_CODE_CODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/base/budget.h"

#define CODE_SEGMENTS_MAX 64

struct code_segment {
	uint64_t vaddr, bytes;
	uint8_t *at;
	bool is_executable;
};

enum code_reloc_kind {
	CODE_RELATIVE, /* value is relative to the module */
	CODE_SYMBOL, /* any module may define it; value: ours, or 0 */
	CODE_HOOK_ENTER, /* only the dynamic linker writes this slot */
	CODE_HOOK_EXIT,
	CODE_NO_RETURN, /* such as exit() */
	CODE_LOOKS_AT_CALLER, /* such as dlsym() */
};

struct code_reloc {
	uint64_t at;
	uint64_t value;
	uint8_t kind; /* enum code_reloc_kind */
};

/* A slot of the GOT with a function of another module. */
struct code_slot {
	uint64_t at;
	uint32_t name; /* its offset in slot_names */
	uint8_t refused; /* enum code_refusal; 0: it may be taken */
};

struct code_section {
	uint64_t vaddr, bytes; /* bytes is 0 if missing */
};

struct code_file {
	struct budget budget;
	struct code_segment segment[CODE_SEGMENTS_MAX];
	size_t segment_count;
	uint64_t text_bytes;
	uint64_t eh_frame_hdr; /* 0: none */
	bool is_fixed; /* ET_EXEC: addresses are final */
	bool defines_hooks;
	struct code_reloc *relocs; /* sorted by at */
	size_t reloc_count, reloc_room;
	struct code_section relro;
	/* If calls is set before the file is read: the slots whose function has
	 * a name that it returns true for. */
	bool (*calls)(void *context, const char *name);
	void *calls_context;
	struct code_slot *slots; /* sorted by at */
	size_t slot_count, slot_room;
	char *slot_names; /* the first is "" */
	size_t slot_name_bytes, slot_name_room;
	/* Tables of an entry build (shared/entry_build.h). */
	struct code_section gcc_entries, xray;
	uint32_t entry_kinds; /* bit mask */
};

#define CODE_READ_BYTES 65536

struct code_source {
	int fd; /* used if read is NULL */
	/* Sets *@got to the number of bytes copied. Returns 0 or -errno. */
	int (*read)(void *context, uint64_t offset, size_t bytes, void *out,
		    size_t *got);
	void *context;
	uint64_t size;
	int err; /* of the last failed read, or 0 */
	/* Cache of the last read; the caller frees window. */
	uint8_t *window;
	uint64_t window_offset, window_bytes;
};

/* Returns 0, or -errno with *@why. The caller releases @file in both cases. */
int code_file_read(struct code_file *file, struct code_source *source,
		   uint64_t text_max, const char **why);
void code_file_release(struct code_file *file);

/* Returns NULL if no single segment of the file has all @bytes. */
const uint8_t *code_file_at(const struct code_file *file, uint64_t vaddr,
			    uint64_t bytes);
/* As code_file_at(), for struct cfi_reader: copies to @out, or returns false. */
bool code_file_copy(void *file, uint64_t vaddr, void *out, size_t bytes);
const struct code_segment *code_file_text(const struct code_file *file,
					  uint64_t vaddr);
const struct code_reloc *code_file_reloc(const struct code_file *file,
					 uint64_t vaddr);
/* Sets *@out to the module-relative address that @vaddr will hold, if known. */
bool code_file_pointer(const struct code_file *file, uint64_t vaddr,
		       uint64_t *out);

#endif
