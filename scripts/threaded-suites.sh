#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# threaded-suites.sh BUILD OBJECT... - prints which suites of unit tests can start a
# thread: PROGRAM:SUITE, or PROGRAM if it has one suite. OBJECT is their object file.
# A suite can do so if its object, or a member of libcollector.a that would be linked
# with it alone, calls pthread_create().
set -eu

build=$1
shift
nm -gA "$build/libcollector.a" "$@" | awk 'NF < 3 { next }
	{	# "lib.a:member.o:0000 T name", "object.o:     U name"
		symbol = $NF
		kind = $(NF - 1)
		object = $1
		sub(/:[0-9a-f]*$/, "", object)
		if (kind == "U")
			users[symbol] = users[symbol] " " object
		else if (object ~ /\.a:/)
			defined[symbol] = object
		if (object !~ /\.a:/)
			tests[object]
		symbols[object] = symbols[object] " " symbol
	}
	# Objects that use a symbol of OBJECT can start a thread if it can.
	function spread(object,    names, using, n, m, i, j) {
		n = split(symbols[object], names)
		for (i = 1; i <= n; i++) {
			if (defined[names[i]] != object)
				continue
			m = split(users[names[i]], using)
			for (j = 1; j <= m; j++)
				reach(using[j])
		}
	}
	function reach(object) {
		if (!(object in threaded)) {
			threaded[object]
			spread(object)
		}
	}
	END {
		n = split(users["pthread_create"], using)
		for (i = 1; i <= n; i++)
			reach(using[i])
		for (object in tests)
			if (object in threaded)
				print object
	}' | sed -n 's|^.*/tests/unit/alone/\(test_.*\)\.o$|\1|p
		s|^.*/tests/unit/\([^/]*\)/test_\(.*\)\.o$|\1_tests:\2|p' | sort
