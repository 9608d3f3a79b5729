/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/core/path.h"

#include <string.h>

bool path_add(char *path, size_t size, const char *text)
{
	size_t length = strlen(path), more = strlen(text);

	if (length + more >= size)
		return false;
	memcpy(path + length, text, more + 1);
	return true;
}

bool path_add_number(char *path, size_t size, unsigned long number)
{
	char digits[24];
	char *digit = digits + sizeof(digits) - 1;

	*digit = '\0';
	do {
		*--digit = (char)('0' + number % 10);
	} while (number /= 10);
	return path_add(path, size, digit);
}
