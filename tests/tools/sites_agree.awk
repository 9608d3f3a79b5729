# SPDX-License-Identifier: Apache-2.0
#
# sites_agree.awk - compares a plan of sites with a run of the program:
#
#	awk -v module=NAME -f sites_agree.awk PLAN PAIRS...
#
# PLAN is the output of tests/tools/code_sites for the module, PAIRS that of
# libsite_preload.so. Each line of PAIRS with the module must agree: a function
# that is not refused has a site that returns there, or ends with a jump. Prints
# each difference, and a sum. Exit status 1 if there is a difference.

BEGIN {
	split("call 5 call-67 6 call-got 6 jump 5 jump-got 6", forms, " ")
	for (i = 1; i < 11; i += 2)
		bytes[forms[i]] = forms[i + 1]
	split("0123456789abcdef", digit, "")
	for (i = 1; i <= 16; i++)
		number[digit[i]] = i - 1
}
function from_hex(text,    i, sum) {
	for (i = 1; i <= length(text); i++)
		sum = sum * 16 + number[substr(text, i, 1)]
	return sum
}
$1 == "site" {
	returns = from_hex($2) + bytes[$3]
	for (i = 5; i <= NF; i++) {
		if ($3 ~ /^jump/)
			jumps[$i] = 1
		else
			sites[$4 " " returns " " $i] = 1
		named[returns] = 1
	}
	next
}
$1 == "function" {
	state[$2] = $5
	slot[$2] = $3 != "0"
	next
}
$1 == "lost" { print; bad++; next }
$1 != "enter" && $1 != "exit" { next }
$2 != module { next }
{
	pairs++
	# A function of another module that was defined there first.
	if ($4 != module) {
		elsewhere++
		next
	}
	returns = from_hex($3)
	if (state[$5] == "refused") {
		refused++
	} else if (sites[$1 " " returns " " $5]) {
		good++
		used[returns] = 1
	} else if ($1 == "exit" && jumps[$5] && !named[returns]) {
		jumped++
	} else {
		print "no site for: " $0
		bad++
	}
}
END {
	printf "pairs %d good %d jumped %d refused %d elsewhere %d bad %d\n",
		pairs, good, jumped, refused, elsewhere, bad
	exit bad > 0
}
