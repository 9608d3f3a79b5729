/* SPDX-License-Identifier: Apache-2.0
 *
 * Nine computing functions with constant shares.
 */
volatile unsigned int sum;

#ifndef WORK
#define WORK 0 /* additional calls of parse(), per 1,000 */
#endif

#define FUNCTION(name, steps)                              \
	__attribute__((noinline)) static void name(void)   \
	{                                                  \
		for (unsigned int i = 0; i < (steps); i++) \
			sum = sum * 31 + i;                \
	}
FUNCTION(tokenize, 900)
FUNCTION(parse, 1000)
FUNCTION(plan, 800)
FUNCTION(sort_rows, 700)
FUNCTION(emit, 950)
FUNCTION(flush, 600)
FUNCTION(checksum, 1100)

__attribute__((noinline)) static void query(int i)
{
	tokenize();
	parse();
	if (WORK && i % (1000 / WORK) == 0)
		parse();
	plan();
	sort_rows();
	emit();
	flush();
	checksum();
}

int main(void)
{
	for (int i = 0; i < 4000; i++)
		query(i);
#ifdef CALL
	flush();
#endif
	return 0;
}
