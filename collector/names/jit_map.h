/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_map - names of generated code (JIT), from the two file formats for
 * profilers:
 *
 *   perf map   text, "START SIZE NAME" a line, in hex: /tmp/perf-PID.map
 *   jitdump    records with names, code and moves of code: jit-PID.dump
 *
 * Files are hostile: malformed entries are skipped silently. Ranges may overlap
 * and come in any order. The last range that contains an address wins, because
 * JITs reuse memory. One thread at a time.
 */
#ifndef PERFREC_COLLECTOR_NAMES_JIT_MAP_H
#define PERFREC_COLLECTOR_NAMES_JIT_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct jit_map;

int jit_map_new(struct jit_map **out);
void jit_map_free(struct jit_map **map);

/* Add the contents of the regular file @fd, and move its offset. Skip entries
 * beyond the limits: 2^20 ranges, 64 MiB of names, 128 MiB of a perf map
 * without its holes, 1 GiB of a jitdump. Return 0, -ENOMEM, the -errno of a
 * read, or -EBADMSG: no jitdump of this machine. */
int jit_map_read_text(struct jit_map *map, int fd);
int jit_map_read_dump(struct jit_map *map, int fd);
/* Call it before jit_map_find(). Returns 0 or -ENOMEM. */
int jit_map_settle(struct jit_map *map);

/* Returns any bytes except newline and NUL, valid while @map is, or NULL. */
const char *jit_map_find(const struct jit_map *map, uint64_t address);
/* Returns true if entries beyond a limit were skipped. */
bool jit_map_is_cut(const struct jit_map *map);
uint64_t jit_map_bytes_read(const struct jit_map *map);
uint64_t jit_map_bytes(const struct jit_map *map);

#endif
