#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# check-functions.sh [--list] - a reader finds a function by its name, and does not
# jump for nothing. Prints three figures of collector/, preload/ and shared/, and
# fails if one is above its limit:
#   - the share of static functions that are called once, in percent
#   - functions with more than 80 lines between their braces
#   - function names that stand in more than one file
# The limits only go down. --list prints the functions behind the figures.
set -u
ONCE=49.4
LONG=0
SHARED=95
list=0
[ "${1:-}" = --list ] && list=1

git ls-files 'collector/*.[ch]' 'preload/*.[ch]' 'shared/*.[ch]' |
	xargs awk -v list=$list -v once_limit=$ONCE -v long_limit=$LONG \
		-v shared_limit=$SHARED -f scripts/check-functions.awk
