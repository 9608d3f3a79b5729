/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_map - names of code that a program has made while it ran (a JIT), out of
 * the two kinds of files that such programs write for profilers:
 *
 *   perf map   text, "START SIZE NAME" a line, in hex: /tmp/perf-PID.map
 *   jitdump    records with names, code and moves of code: jit-PID.dump
 *
 * Files are hostile: what makes no sense is left out without a word. Ranges may
 * overlap and come in any order; of those that hold an address the last one
 * counts, since a JIT uses the room of what it has thrown away. One thread at a
 * time; reading files takes time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_JIT_MAP_H
#define PERFREC_COLLECTOR_NAMES_JIT_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct jit_map;

/* 0 or -ENOMEM. */
int jit_map_new(struct jit_map **out);
/* Also for NULL. */
void jit_map_free(struct jit_map **map);

/*
 * Add what the regular file behind @fd says. What is beyond the limits (2^20
 * ranges, 64 MiB of names, 128 MiB of a perf map without its holes, 1 GiB of a
 * jitdump) is left out. 0, -ENOMEM or -errno of reading it; -EBADMSG: no
 * jitdump of this machine. Moves the offset of @fd.
 */
int jit_map_read_text(struct jit_map *map, int fd);
int jit_map_read_dump(struct jit_map *map, int fd);
/* Call it after all files were read, before jit_map_find(). 0 or -ENOMEM. */
int jit_map_settle(struct jit_map *map);

/* The name of the code at @address: any bytes but newline and NUL. NULL: it is
 * not known. Valid as long as @map. */
const char *jit_map_find(const struct jit_map *map, uint64_t address);
/* True when something was left out, as it was beyond the limits. */
bool jit_map_is_cut(const struct jit_map *map);
/* How many bytes of files were read. */
uint64_t jit_map_bytes_read(const struct jit_map *map);
/* How many bytes of memory @map takes. */
uint64_t jit_map_bytes(const struct jit_map *map);

#endif
