# SPDX-License-Identifier: Apache-2.0
# long: compiles every function of the C library
#
# A program that defines every function of the C library and of the dynamic linker,
# except for those that it needs itself: the shim never calls any of them. A called
# function prints its name and ends the program.
. "$TOP/tests/e2e/lib.sh"
need nm
shim=$O/libperfrec_preload.so

# Functions that the program calls, and that start it. own-malloc.sh tests the
# functions of the shim.
cat >needed <<'LIST'
__libc_start_main
__cxa_finalize
fork
waitpid
pthread_join
raise
write
LIST
nm -D --defined-only "$shim" | awk '{ print $NF }' >>needed
echo 'int main(void) { return 0; }' | gcc -o trivial -x c - || fail gcc
ldd ./trivial | grep -o '/[^ ]*\(libc\.so\.6\|/ld-linux[^ ]*\)' >libraries
# A name may have several versions; one definition replaces every version.
xargs nm -D --defined-only <libraries | awk '
	$2 ~ /^[TWi]$/ && $3 !~ /GLIBC_PRIVATE/ {
		sub(/@.*/, "", $3)
		print $3
	}' | sort -u | grep -vxFf needed >functions
[ "$(wc -l <functions)" -gt 1500 ] || fail 'libc has too few functions'
for function in memcpy strcmp clock_gettime getauxval madvise \
	__errno_location __register_atfork \
	pthread_key_create pthread_key_delete pthread_setspecific \
	pthread_self pthread_attr_init pthread_attr_getstacksize sigaddset \
	sigdelset sigismember strncmp strlen strnlen memset; do
	grep -qx "$function" functions || fail "$function is not defined"
done

# Each puts its name where it is printed.
{
	echo '	.text'
	while read -r function; do
		echo "	.globl $function"
		echo "	.type $function, @function"
		echo "$function:"
		case $(uname -m) in
		x86_64)	echo "	leaq 9f(%rip), %rdi"
			echo "	jmp called" ;;
		aarch64) echo "	adr x0, 9f"
			echo "	b called" ;;
		*)	skip 'no assembly for this machine' ;;
		esac
		echo "9:	.asciz \"$function\""
		echo "	.balign 8"
	done <functions
	# Variables of the dynamic linker and of libc, all of them 0.
	echo '	.bss'
	for variable in _r_debug __rseq_offset __rseq_size; do
		echo "	.globl $variable"
		echo "	.type $variable, @object"
		echo "	.size $variable, 64"
		echo "$variable:	.zero 64"
	done
	echo '	.section .note.GNU-stack, "", @progbits'
} >own.S

for flags in '-pie -fPIE' -no-pie; do
	# shellcheck disable=SC2086 # a list
	gcc -D_GNU_SOURCE -O1 -g $flags -fno-builtin -finstrument-functions -rdynamic \
		-o own "$TOP/tests/progs/robust/own.c" own.S || fail "gcc $flags"
	run_ok ./own
	for disabled in 0 1; do
		PERFREC_DISABLE=$disabled PERFREC_QUIET=1 LD_PRELOAD=$shim \
			run ./own
		expect_status 0
	done
	for options in '--cpu=1000,signal --alloc=exact' \
		'--cpu=off --alloc=sampled:4K --on-full=drop --ring-size 64K' \
		'--depth 2 --alloc=exact'; do
		rm -rf data
		# shellcheck disable=SC2086 # a list
		run_ok "$PERFREC" record -q $options -o data -- ./own
		# -q still reports spans that a busy machine made it drop.
		expect_eq "$flags $options: output" \
			"$(cat out; grep -v '^perfrec: lost .*: the ring was full' err)" \
			'done'
	done
	rm -rf data
	run "$PERFREC" record -q --cpu=1000,signal --alloc=exact -o data -- ./own
	# main, thread, a handler and a context with a leaf each, and four times
	# work with a thousand leaves.
	expect_eq "$flags: spans" "$(json data/summary.json .totals.spans)" 4010
done
exit 0
