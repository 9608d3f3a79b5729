# SPDX-License-Identifier: Apache-2.0
#
# Prints "NAME CALLS" for each function in a file of callgrind that lies in a file whose
# name matches the variable files: the C library has a getenv() as well as bash. A name
# stands behind its number once, and later the number stands alone. A recursive function
# is also NAME'2.

# The name of text, "(NUMBER) NAME" or "(NUMBER)"; kind: o for files, f for functions.
function name_of(kind, text,   number)
{
	number = text
	sub(/ .*/, "", number)
	if (text ~ / /) {
		sub(/^[^ ]* /, "", text)
		sub(/'[0-9]+$/, "", text)
		name[kind, number] = text
	}
	return name[kind, number]
}

/^ob=/ { object = name_of("o", substr($0, 4)) }
/^fn=/ { name_of("f", substr($0, 4)) }
/^cob=/ { called_object = name_of("o", substr($0, 5)) }
/^cfn=/ { called = name_of("f", substr($0, 5)) }
/^calls=/ {
	if ((called_object ? called_object : object) ~ files)
		calls[called] += substr($1, 7)
	called_object = ""
}

END {
	for (function_name in calls)
		if (function_name !~ / /)
			print function_name, calls[function_name]
}
