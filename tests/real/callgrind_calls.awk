# SPDX-License-Identifier: Apache-2.0
#
# Prints "NAME CALLS" for each function in a file of callgrind. A name stands behind
# its number once, and later the number stands alone. A recursive function is also
# NAME'2.

function name_of(text,   number)
{
	number = text
	sub(/ .*/, "", number)
	if (text ~ / /) {
		sub(/^[^ ]* /, "", text)
		sub(/'[0-9]+$/, "", text)
		name[number] = text
	}
	return name[number]
}

/^fn=/ { name_of(substr($0, 4)) }
/^cfn=/ { called = name_of(substr($0, 5)) }
/^calls=/ { calls[called] += substr($1, 7) }

END {
	for (function_name in calls)
		if (function_name !~ / /)
			print function_name, calls[function_name]
}
