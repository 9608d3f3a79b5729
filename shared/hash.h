/* SPDX-License-Identifier: Apache-2.0
 *
 * hash - 64-bit FNV-1a, for tables of texts. An attacker may choose texts that
 * make a table slow, so each table limits the number of texts that a client can
 * add.
 */
#ifndef PERFREC_SHARED_HASH_H
#define PERFREC_SHARED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of an empty text. */
#define HASH_START 0xcbf29ce484222325ULL

/* Returns the hash of a text with the hash @hash that @count bytes are appended
 * to. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes,
				  size_t count)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return hash;
}

/* As hash_bytes() with the characters of @text, without its NUL. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

/* As hash_bytes(), but not FNV and eight times as fast for long texts: reads
 * words. Its values depend on the machine's byte order, so keep them in memory.
 */
static inline uint64_t hash_words(uint64_t hash, const void *bytes,
				  size_t count)
{
	const unsigned char *byte = bytes;
	uint64_t word;

	if (count < sizeof(word))
		return hash_bytes(hash, bytes, count);
	for (; count >= sizeof(word); count -= sizeof(word)) {
		__builtin_memcpy(&word, byte, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
		byte += sizeof(word);
	}
	/* The last bytes of the last word are in the middle now, where
	 * hash_fold() does not find them. */
	hash *= 0x9e3779b97f4a7c15ULL;
	return hash_bytes(hash, byte, count);
}

/* Mixes the high bits of @hash into the low ones, for a table whose index is
 * the low bits. */
static inline uint64_t hash_fold(uint64_t hash)
{
	return hash ^ hash >> 32;
}

/*
 * 2^64 / golden ratio, for multiplicative hashing (Knuth, TAOCP vol. 3, 6.4):
 * the high bits of a number times HASH_MULTIPLIER are a hash of the number.
 */
#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ULL

#endif
