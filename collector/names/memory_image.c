/* SPDX-License-Identifier: Apache-2.0
 *
 * memory_image - the memory is hostile and may change meanwhile. So headers are
 * copied once, all sizes have limits, and no address outside of the module is
 * read. Readers of the image trust it no more than other files.
 *
 * Section headers are not in memory, but readers need them for .dynsym. So they
 * are made from the dynamic section. The hash table has the count of symbols.
 */
#include "collector/names/memory_image.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/names/map_log.h"
#include "collector/names/nowait.h"
#include "collector/names/reader.h"
#include "shared/compiler.h"

#define SEGMENTS_MAX 64u
#define DYNAMIC_MAX 512u
#define IMAGE_BYTES_MAX (256u << 20)
#define BUCKETS_MAX (1u << 20)
#define SYMBOLS_MAX (1u << 20)
#define STEP_BYTES (64u << 10)
#define WINDOW_BYTES (16u << 10)

enum { SECTION_NONE, SECTION_SYMBOLS, SECTION_STRINGS, SECTIONS };

struct window {
	uint64_t address;
	size_t bytes;
	uint8_t data[WINDOW_BYTES];
};

struct image {
	struct readers *readers; /* read the memory as uid */
	uid_t uid;
	struct window *window;
	int mem;
	int to;
	uint64_t start, end, bias;
	Elf64_Ehdr elf;
	Elf64_Phdr segment[SEGMENTS_MAX];
	size_t segment_count;
	uint64_t bytes;
	uint64_t symbols, strings, string_bytes, hash, gnu_hash; /* vaddrs */
	uint8_t step[STEP_BYTES];
};

/* --- the process ---------------------------------------------------------- */

/* Returns 0 with errno on an error. */
static size_t read_process(const struct image *image, uint64_t address,
			   void *out, size_t bytes)
{
	char ignored[READER_WHY_BYTES];
	size_t got = 0;
	int err = reader_bytes(image->readers, image->uid, image->mem, address,
			       bytes, out, &got, ignored);

	errno = -err;
	return err ? 0 : got;
}

static bool read_image_vaddr(const struct image *image, uint64_t vaddr,
			     void *out, size_t bytes)
{
	uint64_t address = vaddr + image->bias;
	struct window *window = image->window;

	if (address < image->start || address >= image->end ||
	    image->end - address < bytes)
		return false;
	if (bytes > sizeof(window->data))
		return read_process(image, address, out, bytes) == bytes;
	if (address < window->address ||
	    address - window->address >= window->bytes ||
	    window->bytes - (address - window->address) < bytes) {
		window->address = address;
		window->bytes = read_process(
			image, address, window->data,
			MIN(image->end - address, sizeof(window->data)));
	}
	if (window->bytes - (address - window->address) < bytes)
		return false;
	memcpy(out, window->data + (address - window->address), bytes);
	return true;
}

static int read_image_headers(struct image *image)
{
	const Elf64_Ehdr *elf = &image->elf;
	uint64_t vaddr = image->start - image->bias;

	if (!read_image_vaddr(image, vaddr, &image->elf, sizeof(*elf)))
		return errno == EACCES || errno == EPERM ? -errno : -EIO;
	if (memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
	    elf->e_ident[EI_CLASS] != ELFCLASS64 ||
	    elf->e_phentsize != sizeof(Elf64_Phdr) || !elf->e_phnum ||
	    elf->e_phnum > SEGMENTS_MAX || elf->e_phoff > STEP_BYTES)
		return -ENOEXEC;
	image->segment_count = elf->e_phnum;
	if (!read_image_vaddr(image, vaddr + elf->e_phoff, image->segment,
			      elf->e_phnum * sizeof(image->segment[0])))
		return -ENOEXEC;
	return 0;
}

/* --- the dynamic section -------------------------------------------------- */

/* ld.so usually adds the bias to these pointers. */
static uint64_t vaddr_of(const struct image *image, uint64_t pointer)
{
	return pointer >= image->start && pointer < image->end
		       ? pointer - image->bias
		       : pointer;
}

static void read_dynamic_entries(struct image *image, const Elf64_Phdr *dynamic)
{
	size_t count = MIN(dynamic->p_memsz / sizeof(Elf64_Dyn), DYNAMIC_MAX);
	Elf64_Dyn entry;

	for (size_t i = 0; i < count; i++) {
		if (!read_image_vaddr(image,
				      dynamic->p_vaddr + i * sizeof(entry),
				      &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return;
		switch (entry.d_tag) {
		case DT_SYMTAB:
			image->symbols = vaddr_of(image, entry.d_un.d_val);
			break;
		case DT_STRTAB:
			image->strings = vaddr_of(image, entry.d_un.d_val);
			break;
		case DT_HASH:
			image->hash = vaddr_of(image, entry.d_un.d_val);
			break;
		case DT_GNU_HASH:
			image->gnu_hash = vaddr_of(image, entry.d_un.d_val);
			break;
		case DT_STRSZ:
			image->string_bytes = entry.d_un.d_val;
			break;
		default:
			break;
		}
	}
}

/* Returns the number of dynamic symbols, SYMBOLS_MAX at most; 0: unknown.
 * DT_GNU_HASH has no such number, but its last chain ends with the last
 * symbol. */
static uint64_t count_symbols(const struct image *image)
{
	/* DT_GNU_HASH: buckets, first symbol, words of the filter. DT_HASH:
	 * buckets, symbols. */
	uint32_t head[4], symbol = 0, bucket, hash = 0;
	uint64_t buckets, chains;

	if (image->hash && read_image_vaddr(image, image->hash, head, 8))
		return MIN(head[1], SYMBOLS_MAX);
	if (!image->gnu_hash ||
	    !read_image_vaddr(image, image->gnu_hash, head, sizeof(head)))
		return 0;
	buckets = image->gnu_hash + sizeof(head) + head[2] * 8ull;
	chains = buckets + head[0] * 4ull;
	for (uint32_t i = 0; i < head[0] && i < BUCKETS_MAX; i++) {
		if (!read_image_vaddr(image, buckets + i * 4ull, &bucket, 4)) {
			symbol = 0;
			break;
		}
		symbol = MAX(symbol, bucket);
	}
	if (symbol < head[1])
		return MIN(head[1], SYMBOLS_MAX); /* only imports */
	for (; symbol < SYMBOLS_MAX; symbol++) {
		if (!read_image_vaddr(image, chains + (symbol - head[1]) * 4ull,
				      &hash, 4))
			return 0;
		if (hash & 1)
			return symbol + 1ull;
	}
	return 0;
}

/* --- the image ------------------------------------------------------------ */

static int write_image_at(int fd, const void *bytes, size_t count,
			  uint64_t offset)
{
	while (count) {
		ssize_t put = pwrite(fd, bytes, count, (off_t)offset);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put <= 0)
			continue;
		bytes = (const char *)bytes + put;
		count -= (size_t)put;
		offset += (uint64_t)put;
	}
	return 0;
}

/* Copies the readable part of a segment to its file offset. */
static int copy_segment(struct image *image, const Elf64_Phdr *segment)
{
	uint64_t done = 0;
	int err = 0;

	if (segment->p_offset > IMAGE_BYTES_MAX ||
	    segment->p_filesz > IMAGE_BYTES_MAX - segment->p_offset)
		return -EFBIG;
	while (done < segment->p_filesz && !err) {
		size_t part = MIN(segment->p_filesz - done, STEP_BYTES);

		if (!read_image_vaddr(image, segment->p_vaddr + done,
				      image->step, part))
			break;
		err = write_image_at(image->to, image->step, part,
				     segment->p_offset + done);
		done += part;
	}
	image->bytes = MAX(image->bytes, segment->p_offset + done);
	return err;
}

static int copy_segments(struct image *image)
{
	int err = 0;

	for (size_t i = 0; i < image->segment_count && !err; i++) {
		const Elf64_Phdr *segment = &image->segment[i];

		if (segment->p_type == PT_DYNAMIC)
			read_dynamic_entries(image, segment);
		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
			err = copy_segment(image, segment);
	}
	return err;
}

/* Returns 0 if the image lacks the bytes. */
static uint64_t image_offset_of(const struct image *image, uint64_t vaddr,
				uint64_t bytes)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *segment = &image->segment[i];
		uint64_t into = vaddr - segment->p_vaddr;

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) &&
		    vaddr >= segment->p_vaddr && into < segment->p_filesz &&
		    segment->p_filesz - into >= bytes)
			return segment->p_offset + into;
	}
	return 0;
}

/* Writes the headers last, with sections if there is a .dynsym. */
static int write_sections(struct image *image)
{
	uint64_t symbol_bytes = count_symbols(image) * sizeof(Elf64_Sym);
	Elf64_Shdr sections[SECTIONS] = {
		[SECTION_SYMBOLS] = {
			.sh_type = SHT_DYNSYM,
			.sh_addr = image->symbols,
			.sh_offset =
				image_offset_of(image, image->symbols, symbol_bytes),
			.sh_size = symbol_bytes,
			.sh_link = SECTION_STRINGS,
			.sh_entsize = sizeof(Elf64_Sym),
			.sh_addralign = 8,
		},
		[SECTION_STRINGS] = {
			.sh_type = SHT_STRTAB,
			.sh_addr = image->strings,
			.sh_offset = image_offset_of(image, image->strings,
					       image->string_bytes),
			.sh_size = image->string_bytes,
			.sh_addralign = 1,
		},
	};
	Elf64_Ehdr elf = image->elf;
	int err = 0;

	elf.e_shoff = 0;
	elf.e_shnum = elf.e_shstrndx = 0;
	if (sections[SECTION_SYMBOLS].sh_offset &&
	    sections[SECTION_STRINGS].sh_offset) {
		elf.e_shoff = ALIGN_UP(image->bytes, 8);
		elf.e_shnum = SECTIONS;
		elf.e_shentsize = sizeof(sections[0]);
		err = write_image_at(image->to, sections, sizeof(sections),
				     elf.e_shoff);
	}
	return err ? err : write_image_at(image->to, &elf, sizeof(elf), 0);
}

struct names_head {
	Elf64_Ehdr elf;
	Elf64_Phdr load, note;
	Elf64_Nhdr note_head;
	char note_name[4];
	uint8_t build_id[MAP_BUILD_ID_MAX];
};

static uint32_t parse_build_id(const char *hex, uint8_t *out, size_t max)
{
	uint32_t count = 0;
	unsigned int byte;

	while (count < max && sscanf(hex, "%2x", &byte) == 1) {
		out[count++] = (uint8_t)byte;
		hex += 2;
	}
	return count;
}

static void make_names_head(const char *build_id, uint64_t bytes,
			    struct names_head *out)
{
	const Elf64_Ehdr elf = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64,
			     __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
				     ? ELFDATA2LSB
				     : ELFDATA2MSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_phoff = offsetof(struct names_head, load),
		.e_ehsize = sizeof(elf),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
	};

	*out = (struct names_head){
		.elf = elf,
		.load = { .p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_filesz = bytes,
			  .p_memsz = bytes },
		.note = { .p_type = PT_NOTE,
			  .p_offset = offsetof(struct names_head, note_head),
			  .p_align = 4 },
		.note_head = { .n_namesz = 4, .n_type = NT_GNU_BUILD_ID },
		.note_name = ELF_NOTE_GNU,
	};
	out->note_head.n_descsz =
		parse_build_id(build_id, out->build_id, sizeof(out->build_id));
	out->note.p_filesz = sizeof(out->note_head) + sizeof(out->note_name) +
			     out->note_head.n_descsz;
}

static int write_names(int fd, const struct map_names *names,
		       struct names_head *head)
{
	const uint64_t symbols = ALIGN_UP(sizeof(*head), 8);
	const uint64_t strings = symbols + names->symbol_bytes;
	const uint64_t sections = ALIGN_UP(strings + names->string_bytes, 8);
	const Elf64_Shdr section[SECTIONS] = {
		[SECTION_SYMBOLS] = { .sh_type = SHT_DYNSYM,
				      .sh_offset = symbols,
				      .sh_size = names->symbol_bytes /
						 sizeof(Elf64_Sym) *
						 sizeof(Elf64_Sym),
				      .sh_link = SECTION_STRINGS,
				      .sh_entsize = sizeof(Elf64_Sym),
				      .sh_addralign = 8 },
		[SECTION_STRINGS] = { .sh_type = SHT_STRTAB,
				      .sh_offset = strings,
				      .sh_size = names->string_bytes,
				      .sh_addralign = 1 },
	};
	int err;

	head->elf.e_shoff = sections;
	head->elf.e_shnum = SECTIONS;
	head->elf.e_shentsize = sizeof(section[0]);
	err = write_image_at(fd, head, sizeof(*head), 0);
	if (!err)
		err = write_image_at(fd, names->symbols, names->symbol_bytes,
				     symbols);
	if (!err)
		err = write_image_at(fd, names->strings, names->string_bytes,
				     strings);
	return err ? err
		   : write_image_at(fd, section, sizeof(section), sections);
}

int memory_image_of_names(const struct map_names *names, const char *build_id,
			  uint64_t bytes)
{
	int fd = memfd_create("perfrec-names", MFD_CLOEXEC);
	struct names_head head;
	int err;

	if (fd < 0)
		return -errno;
	make_names_head(build_id, bytes, &head);
	err = write_names(fd, names, &head);
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Returns -EPERM if /proc/PID has another owner: exec() of a program with more
 * rights. */
static int open_memory(int proc_fd, uid_t uid)
{
	int mem = openat(proc_fd, "mem", O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (mem < 0)
		return -errno;
	if (!nowait_stat(proc_fd, &status) && status.st_uid == uid)
		return mem;
	close(mem);
	return -EPERM;
}

int memory_image_open(struct readers *readers, uid_t uid, int proc_fd,
		      uint64_t start, uint64_t end, uint64_t bias)
{
	struct image *image = calloc(1, sizeof(*image));
	struct window *window = calloc(1, sizeof(*window));
	int err = image && window ? 0 : -ENOMEM, fd = -1;

	if (!err) {
		*image = (struct image){ .readers = readers,
					 .uid = uid,
					 .window = window,
					 .start = start,
					 .end = end,
					 .bias = bias };
		image->mem = open_memory(proc_fd, uid);
		err = MIN(image->mem, 0);
		image->to =
			err ? -1 : memfd_create("perfrec-image", MFD_CLOEXEC);
		if (!err && image->to < 0)
			err = -errno;
		if (!err) {
			err = read_image_headers(image);
			if (!err)
				err = copy_segments(image);
			if (!err)
				err = write_sections(image);
		}
		if (image->mem >= 0)
			close(image->mem);
		fd = image->to;
	}
	free(window);
	free(image);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}
