# SPDX-License-Identifier: Apache-2.0
#
# What gcc writes behind the call at the begin of each function of an entry
# build (`perfrec cc --hooks=entry`, shared/entry_build.h). scripts/entry-specs.awk
# makes one line of it, and a file of specs with that line.
#
# gcc writes, behind the label 1: of the call,
#
#	.section NAME, "a",@progbits
#	.quad 1b
#	.previous
#
# where NAME is the value of -mfentry-section, as it is. Its own way is of no
# use: an absolute address is a text relocation in position-independent code,
# --gc-sections drops the table, and in C++ the linker rejects it when it keeps
# only one of several equal functions. So NAME is all of the lines below. It
# ends with a macro that takes the rest of gcc's line as an argument, and
# leaves gcc in a section that is never linked, with a label 1: whose address
# is 0.

# gcc's line begins with ".section".
.section .perfrec.none,"e",@nobits
.previous

# Once in each file: the stub and the note. All files of a module have them in a
# group of this name; the linker keeps one.
.ifndef .Lperfrec
.set .Lperfrec,1
.section .text.__perfrec_entry,"axG",@progbits,__perfrec_entry,comdat
.weak __perfrec_entry
.hidden __perfrec_entry
.type __perfrec_entry,@function
__perfrec_entry:
ret
.size __perfrec_entry,.-__perfrec_entry
.previous
.section .note.perfrec,"aG",@note,__perfrec_entry,comdat
.balign 4
.long 8,4,1
.asciz "perfrec"
.long 1
.previous

# The table is in the function's own group, if that has one ("?").
# A relocation that does nothing refers from the function to its part of the
# table: so the linker keeps both or none.
.macro __perfrec_function rest:vararg
@EACH .Lperfrec_at_\@:
@EACH .section .perfrec.entries,"ao?",@progbits,.Lperfrec_at_\@
@ONE .section .perfrec.entries,"a?",@progbits
.Lperfrec_\@:
.long 1b - .
.previous
.reloc 1b,R_X86_64_NONE,.Lperfrec_\@
.struct 0
1:
.previous
.section .perfrec.none,"e",@nobits
.endm
.endif

__perfrec_function
