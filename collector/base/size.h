/* SPDX-License-Identifier: Apache-2.0
 *
 * size - numbers as people write and read them: "64M", "1,234,567", "1.24 s".
 */
#ifndef PERFREC_COLLECTOR_BASE_SIZE_H
#define PERFREC_COLLECTOR_BASE_SIZE_H

#include <stddef.h>
#include <stdint.h>

/* Each of these four returns 0 and sets *@out; or -EINVAL (@text is no such
 * number) or -ERANGE (the number is out of range), and leaves *@out alone. */

/* A whole decimal number of bytes, with K, M, G or T for powers of 1024 ("64M",
 * "64m"), that 64 bits hold. */
int size_parse_bytes(const char *text, uint64_t *out);
/* A whole decimal number from @min to @max. */
int size_parse_count(const char *text, uint64_t min, uint64_t max,
		     uint64_t *out);
/* A time: a whole decimal number with its unit, ms, s, m or h ("10s"). *@out is
 * in ns. */
int size_parse_ns(const char *text, uint64_t *out);
/* A time that may be short: a decimal number, with up to nine digits behind a
 * point, and its unit, ns, us, ms, s, m or h ("1.5us"). *@out is in ns. */
int size_parse_duration(const char *text, uint64_t *out);

/* Room for any text that the functions below make. */
#define SIZE_TEXT 32

/* Each writes at most SIZE_TEXT bytes to @text, and returns @text. */
char *size_format_bytes(uint64_t bytes, char *text); /* "1.50 MiB" */
char *size_format_ns(uint64_t ns, char *text); /* "1.24 ms", "12 min 05 s" */
/* The same of @ns if it is @error_ns or more; else that it is less, with one
 * digit of @error_ns rounded up: "< 300 us". */
char *size_format_ns_within(uint64_t ns, uint64_t error_ns, char *text);
char *size_format_count(uint64_t count, char *text); /* "1,234,567" */

/*
 * Writes @form to @text, at most @room bytes with the NUL. "#" becomes @number,
 * which is digits only. Of "{block was|blocks were}" the first half stays if
 * @number is "1", and else the second.
 */
void size_format_text(const char *form, const char *number, char *text,
		      size_t room);

#endif
