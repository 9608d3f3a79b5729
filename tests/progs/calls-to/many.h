// SPDX-License-Identifier: Apache-2.0
// Functions with many arguments on the stack.
#define LARGE 60
struct large {
	long word[LARGE];
};
long many_sum(int, int, int, int, int, int, int, int, int, int, int, int, int,
	      int, int, int, int, int, int, int, int, int, int, int, int, int,
	      int, int, int, int);
long many_large(struct large large, int last);
struct large many_back(long last);
double many_double(double, double, double, double, double, double, double,
		   double, double);
long double many_long(long double);
long many_va(int count, ...);
