/* SPDX-License-Identifier: Apache-2.0
 *
 * hash - FNV-1a of 64 bits, for tables of texts. The texts may be chosen by
 * whoever wants a table to be slow: a table that such texts can fill must bound
 * how many it takes.
 */
#ifndef PERFREC_SHARED_HASH_H
#define PERFREC_SHARED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The hash of nothing. */
#define HASH_START 0xcbf29ce484222325ULL

/* The hash of what @hash is the hash of, and @count bytes more. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes,
				  size_t count)
{
	const unsigned char *byte = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ULL;
	return hash;
}

/* The same with the characters of @text, without its NUL. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

/* Of long texts, eight times as fast, and not FNV: takes a word at a time. Its
 * value is for tables in memory. */
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

/* For a table that takes the low bits of @hash as its index: mixes the high
 * ones in. */
static inline uint64_t hash_fold(uint64_t hash)
{
	return hash ^ hash >> 32;
}

/*
 * Multiplicative hashing (Knuth, TAOCP vol. 3, 6.4): the high bits of a number
 * times this, which is 2^64 / golden ratio, are a hash of it.
 */
#define HASH_MULTIPLIER 0x9e3779b97f4a7c15ULL

#endif
