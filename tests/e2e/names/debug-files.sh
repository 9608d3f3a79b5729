#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A stripped program gets names and source lines from its debug file. Errors in
# debug information, or in the process that reads it, cost only lines.
. "$TOP/tests/e2e/lib.sh"
need objcopy strip gzip

unset DEBUGINFOD_URLS
build_calls
cp calls whole
objcopy --only-keep-debug calls calls.debug
strip calls

# record PROGRAM: it runs as always, and leaf() was called 1,000 times.
record()
{
	rm -rf data
	run_ok "$PERFREC" record -o data -- "./$1"
	expect_eq "what $1 prints" "$(cat out)" 499500
	expect_eq 'spans' "$(json data/summary.json .totals.spans)" 1002
	gzip -dc data/wall.pb.gz | tr -c '[:print:]' '\n' >profile
}

named()
{
	json data/summary.json \
		'[.functions[] | select(.name == "leaf") | .calls] | add'
}

record whole
expect_eq 'calls of leaf' "$(named)" 1000
expect_match profile '/calls[.]c'

record calls
expect_eq 'calls of leaf without a name' "$(named)" null
expect_match err "cannot read the symbols of .*/calls: it has none"
expect_no_match profile '/calls[.]c'

objcopy --add-gnu-debuglink=calls.debug calls
record calls
expect_eq 'calls of leaf' "$(named)" 1000
expect_match profile '/calls[.]c'
expect_no_match err 'warning'

echo >>calls.debug
objcopy -R .note.gnu.build-id calls
record calls
expect_eq 'calls of leaf by a file of another build' "$(named)" null
expect_eq 'lines that say so' "$(grep -c 'debug file .*/calls.debug has not' err)" 1

# Debug information that is noise.
head -c 100000 /dev/zero | tr '\0' '\377' >noise
cp whole bad
objcopy --update-section .debug_info=noise --update-section .debug_abbrev=noise \
	--update-section .debug_line=noise bad || fail 'objcopy'
record bad
expect_eq 'calls of leaf' "$(named)" 1000

# A reader that is missing, that dies, that says nothing.
printf '#!/bin/sh\nkill -SEGV $$\n' >dies
printf '#!/bin/sh\n' >silent
chmod +x dies silent
for reader in missing dies silent; do
	PERFREC_SYMBOLIZE=$PWD/$reader
	export PERFREC_SYMBOLIZE
	record whole
	expect_eq 'calls of leaf' "$(named)" 1000
	expect_no_match profile '/calls[.]c'
	expect_eq 'lines that say so' "$(grep -c 'no source lines for' err)" 1
done
expect_match err 'no source lines for .*/whole: perfrec-symbolize gave no whole'
