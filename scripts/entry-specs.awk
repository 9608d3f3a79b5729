# SPDX-License-Identifier: Apache-2.0
#
# Makes a file of specs for gcc from dist/entry.s. With it, gcc builds functions
# with room for hooks at the start and before each return:
#
#	awk -f scripts/entry-specs.awk dist/entry.s >entry.specs
#
# Specs reach the compilers cc1, cc1plus, f951 and lto1, but, as -pg would, not
# the linker. There are two forms of the table: with -ffunction-sections each
# function has its own part (lines with @EACH), so that the linker may drop one
# function and keep another; else an object has one (@ONE).

BEGIN { first = 1 }
/^#/ || /^$/ { next }
{
	form = "both"
	if (sub(/^@EACH /, ""))
		form = "each"
	else if (sub(/^@ONE /, ""))
		form = "one"
	# gcc writes this itself.
	if (first)
		sub(/^\.section /, "")
	first = 0
	# To gcc a backslash means that the next character stands for itself.
	gsub(/\\/, "&&")
	gsub(/ /, "\\ ")
	if (form != "one")
		each = each (each ? ";\\ " : "") $0
	if (form != "each")
		one = one (one ? ";\\ " : "") $0
}
END {
	# gcc appends its own text, which becomes the macro's argument.
	print "*perfrec_each:\n-mfentry-section=" each "\\ \n"
	print "*perfrec_one:\n-mfentry-section=" one "\\ \n"
	# Not for gprof, not on other machines, and not if the user says so.
	without = "pg p m32 mx32 masm=intel mcmodel=large mcmodel=kernel"
	without = without " ffreestanding fno-instrument-functions"
	count = split(without, options, " ")
	print "*cc1:"
	printf "+ "
	for (i = 1; i <= count; i++)
		printf "%%{!%s:", options[i]
	printf "-p -mfentry -mfentry-name=__perfrec_entry "
	printf "-minstrument-return=nop5 -mrecord-mcount "
	printf "%%{ffunction-sections:%%(perfrec_each);:%%(perfrec_one)}"
	for (i = 1; i <= count; i++)
		printf "}"
	print "\n"
}
