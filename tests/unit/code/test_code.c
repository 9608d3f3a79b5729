/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans of crafted code: the functions that a hook's call site may stand for,
 * and refused functions. tests/e2e/overhead/sites-agree.sh checks the code of
 * compilers.
 */
#include <errno.h>
#include <sys/mman.h>

#include "collector/base/bytes.h"
#include "collector/code/code_pack.h"
#include "collector/code/code_plan.h"
#include "tests/random.h"
#include "tests/suite.h"
#include "tests/unit/entry_code.h"
#include "tests/unit/scratch.h"

#define ENTER "__cyg_profile_func_enter"
#define EXIT "__cyg_profile_func_exit"
#define CALL(hook, function) "lea " function "(%rip), %rdi; call " hook "@PLT;"
/* A function as compilers emit it. */
#define PLAIN(name)                                   \
	FUNCTION(name, "push %rbx;" CALL(ENTER, name) \
			       CALL(EXIT, name) "pop %rbx; ret")
#define FUNCTION(name, body)                                                 \
	".globl " name "; .hidden " name "; .type " name ", @function;" name \
	": .cfi_startproc;" body "; .cfi_endproc; .size " name ", . - " name \
	";"

static struct code_plan *g_plan;
static const char *g_why;

static int plan_file(const char *path, const struct code_limits *limits)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err;

	ck_assert_int_ge(fd, 0);
	err = code_plan_new(fd, limits, &g_plan, &g_why);
	close(fd);
	return err;
}

static int plan_code(const char *code)
{
	FILE *file = fopen("code.c", "we");

	ck_assert_ptr_nonnull(file);
	fprintf(file, "__asm__(\"%s\");\n", code);
	fclose(file);
	scratch_run("cc -O2 -fno-asynchronous-unwind-tables -nostdlib -shared "
		    "-fPIC -o code.so code.c");
	return plan_file("./code.so", NULL);
}

static bool is_called(void *context, const char *name)
{
	(void)context;
	return strcmp(name, "write") != 0;
}

/* Plans calls of all functions but write() through slots of @code. */
static void plan_calls(const char *code)
{
	struct code_input input = { .calls = is_called };
	int err;

	ck_assert_int_eq(plan_code(code), -ENODATA);
	input.fd = open("./code.so", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(input.fd, 0);
	err = code_plan_begin(&input, NULL, &g_plan, &g_why);
	while (!err && (err = code_plan_step(g_plan, 64)) == 1)
		err = 0;
	ck_assert_int_eq(err, 0);
	close(input.fd);
}

static void forget(void)
{
	code_plan_free(&g_plan);
}

static size_t refused(enum code_refusal refusal)
{
	size_t count = 0;

	for (size_t i = 0; i < g_plan->function_count; i++)
		count += g_plan->functions[i].refused == refusal;
	return count;
}

static size_t sites_of(uint32_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < g_plan->site_count; i++)
		found += g_plan->sites[i].count == count;
	return found;
}

SUITE(scratch_enter, scratch_leave);

FIXTURE(NULL, forget);

TEST(code_finds_the_calls_of_a_function)
{
	const struct code_site *site;

	ck_assert_int_eq(plan_code(PLAIN("a")), 0);
	ck_assert_uint_eq(g_plan->function_count, 1);
	ck_assert_uint_eq(g_plan->site_count, 2);
	ck_assert_uint_eq(g_plan->functions[0].count, 2);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	site = &g_plan->sites[0];
	ck_assert_uint_eq(site->form, CODE_CALL);
	ck_assert_uint_eq(site->bytes[0], 0xe8);
	ck_assert_uint_eq(site->address, g_plan->functions[0].address + 8);
	ck_assert(!site->is_exit && g_plan->sites[1].is_exit);
}

/* Returns the refusal of the function that is called through the slot with
 * @name; -1: there is none. */
static int refusal_of_call(const char *name)
{
	for (size_t i = 0; i < g_plan->function_count; i++)
		if (!strcmp(g_plan->slot_names + g_plan->functions[i].name,
			    name))
			return g_plan->functions[i].refused;
	return -1;
}

TEST(code_takes_slots_that_are_only_called_through)
{
	plan_calls(FUNCTION(
		"a", "call read@PLT; call *open@GOTPCREL(%rip);"
		     "jmp *lseek@GOTPCREL(%rip); call *close@GOTPCREL(%rip);"
		     "mov close@GOTPCREL(%rip), %rax; call dlsym@PLT;"
		     "call exit@PLT; call __tls_get_addr@PLT; call write@PLT;"
		     "cmpq $0, pipe@GOTPCREL(%rip); call pipe@PLT"));
	ck_assert_int_eq(refusal_of_call("read"), CODE_NOT_REFUSED);
	ck_assert_int_eq(refusal_of_call("open"), CODE_NOT_REFUSED);
	ck_assert_int_eq(refusal_of_call("lseek"), CODE_NOT_REFUSED);
	ck_assert_int_eq(refusal_of_call("close"), CODE_ADDRESS_TAKEN);
	ck_assert_int_eq(refusal_of_call("dlsym"), CODE_SPECIAL_CALL);
	ck_assert_int_eq(refusal_of_call("exit"), CODE_SPECIAL_CALL);
	ck_assert_int_eq(refusal_of_call("__tls_get_addr"), CODE_SPECIAL_CALL);
	ck_assert_int_eq(refusal_of_call("write"), -1);
	for (size_t i = 0; i < g_plan->function_count; i++)
		ck_assert_uint_eq(g_plan->functions[i].count,
				  !g_plan->functions[i].refused);
	for (size_t i = 0; i < g_plan->site_count; i++) {
		ck_assert_int_eq(g_plan->sites[i].form, CODE_SLOT);
		ck_assert_uint_eq(g_plan->sites[i].address % 8, 0);
	}
}

TEST(code_keeps_constants_in_registers_and_on_the_stack)
{
	ck_assert_int_eq(
		plan_code(FUNCTION(
			"a", "push %rbx; sub $32, %rsp; lea a(%rip), %rbx;"
			     "mov %rbx, 8(%rsp); mov %rbx, %rdi; call " ENTER
			     "@PLT; xor %ebx, %ebx; mov 8(%rsp), %rdi;"
			     "add $32, %rsp; pop %rbx; jmp " EXIT "@PLT")),
		0);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	ck_assert_uint_eq(g_plan->sites[1].form, CODE_JUMP);
}

TEST(code_knows_that_calls_change_registers_and_what_lies_below_the_stack)
{
	ck_assert_int_eq(plan_code(FUNCTION("a", CALL(ENTER, "a") "call " EXIT
								  "@PLT; ret")),
			 0);
	ck_assert_uint_eq(refused(CODE_UNKNOWN_FUNCTION), 1);
	forget();
	ck_assert_int_eq(plan_code(FUNCTION(
				 "a", "lea a(%rip), %rdi; mov %rdi, -16(%rsp);"
				      "call " ENTER "@PLT; mov -16(%rsp), %rdi;"
				      "call " EXIT "@PLT; ret")),
			 0);
	ck_assert_uint_eq(refused(CODE_UNKNOWN_FUNCTION), 1);
	ck_assert_uint_eq(g_plan->unknown_sites, 1);
}

TEST(code_lets_a_site_stand_for_all_its_functions)
{
	ck_assert_int_eq(
		plan_code(PLAIN("a") FUNCTION(
			"b",
			CALL(ENTER, "b") CALL(
				ENTER,
				"a") "lea a(%rip), %rdi; lea b(%rip), %rax;"
				     "test %esi, %esi; cmovne %rax, %rdi;"
				     "call " EXIT "@PLT; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 2);
	ck_assert_uint_eq(sites_of(2), 1);
	forget();
	ck_assert_int_eq(
		plan_code(PLAIN("a") FUNCTION(
			"b",
			CALL(ENTER, "b") CALL(
				ENTER, "a") "test %esi, %esi; lea a(%rip), "
					    "%rdi; jne 1f;"
					    "lea b(%rip), %rdi; 1: call " EXIT
					    "@PLT; ret")),
		0);
	ck_assert_uint_eq(sites_of(2), 1);
}

TEST(code_refuses_all_whose_site_may_be_one_that_it_does_not_know)
{
	/* b's exit could belong to a, which is inlined there. */
	ck_assert_int_eq(
		plan_code(PLAIN("a") PLAIN("c") FUNCTION(
			"b", CALL(ENTER, "b") CALL(
				     ENTER, "a") "mov (%rsi), %rdi; call " EXIT
						 "@PLT; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_UNKNOWN_FUNCTION), 2);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
}

TEST(code_refuses_all_if_there_are_calls_in_code_that_nothing_describes)
{
	ck_assert_int_eq(plan_code(PLAIN("a") "b: " CALL(EXIT, "a") "ret;"), 0);
	ck_assert_uint_eq(refused(CODE_UNKNOWN_FUNCTION), 1);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 0);
}

TEST(code_knows_functions_by_their_symbols_alone)
{
	ck_assert_int_eq(plan_code(".globl a; .hidden a; .type a, @function;"
				   "a: " CALL(ENTER, "a") CALL(
					   EXIT, "a") "ret; .size a, . - a;"),
			 0);
	ck_assert_uint_eq(g_plan->site_count, 2);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
}

TEST(code_refuses_other_ways_to_call)
{
	ck_assert_int_eq(
		plan_code(FUNCTION(
			"a",
			CALL(ENTER, "a") "lea a(%rip), %rdi; test %esi, %esi;"
					 "je " EXIT "@PLT; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_UNKNOWN_FORM), 1);
	forget();
	ck_assert_int_eq(
		plan_code(FUNCTION(
			"a",
			"push %rbx; mov " EXIT "@GOTPCREL(%rip), %rbx;" CALL(
				ENTER, "a") "lea a(%rip), %rdi; call *%rbx;"
					    "pop %rbx; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_THROUGH_REGISTER), 1);
	forget();
	ck_assert_int_eq(plan_code(FUNCTION("a", CALL(EXIT, "a") "ret")), 0);
	ck_assert_uint_eq(refused(CODE_NO_ENTRY), 1);
}

TEST(code_refuses_what_it_cannot_decode)
{
	ck_assert_int_eq(
		plan_code(FUNCTION(
			"a", CALL(ENTER, "a")
				     CALL(EXIT, "a") "jmp 1f + 1; 1: mov "
						     "$0x9090c3, %eax; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_UNDECODED), 1);
	forget();
	ck_assert_int_eq(
		plan_code(FUNCTION("a", CALL(ENTER, "a") CALL(
						EXIT, "a") ".byte 0x06; ret")),
		0);
	ck_assert_uint_eq(refused(CODE_UNDECODED), 1);
}

TEST(code_takes_calls_through_the_got)
{
	ck_assert_int_eq(
		plan_code(FUNCTION("a", "lea a(%rip), %rdi; call *" ENTER
					"@GOTPCREL(%rip); lea a(%rip), %rdi;"
					"jmp *" EXIT "@GOTPCREL(%rip)")),
		0);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	ck_assert_uint_eq(g_plan->sites[0].form, CODE_CALL_GOT);
	ck_assert_uint_eq(g_plan->sites[1].form, CODE_JUMP_GOT);
}

TEST(code_names_a_function_of_anybody_by_its_slot)
{
	ck_assert_int_eq(
		plan_code(".globl f; .type f, @function; f: .cfi_startproc;"
			  "mov f@GOTPCREL(%rip), %rdi; call " ENTER "@PLT;"
			  "mov f@GOTPCREL(%rip), %rdi; call " EXIT "@PLT;"
			  "ret; .cfi_endproc; .size f, . - f;"),
		0);
	ck_assert_uint_eq(g_plan->function_count, 1);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	ck_assert_uint_ne(g_plan->functions[0].slot, 0);
	ck_assert_uint_ne(g_plan->functions[0].address, 0);
}

TEST(code_makes_the_same_plan_in_pieces)
{
	struct code_plan *pieces;
	int steps = 0, err, fd;

	ck_assert_int_eq(plan_code(PLAIN("a") PLAIN("b") PLAIN("c")), 0);
	fd = open("./code.so", O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(code_plan_begin(&(struct code_input){ .fd = fd }, NULL,
					 &pieces, &g_why),
			 0);
	close(fd);
	do {
		err = code_plan_step(pieces, 1);
		steps++;
	} while (err == 1);
	ck_assert_int_eq(err, 0);
	ck_assert_int_ge(steps, 3);
	ck_assert_uint_eq(pieces->site_count, g_plan->site_count);
	ck_assert_mem_eq(pieces->sites, g_plan->sites,
			 g_plan->site_count * sizeof(*g_plan->sites));
	code_plan_free(&pieces);
}

static void plan_variety(void)
{
	ck_assert_int_eq(
		plan_code(PLAIN("a") PLAIN("b") FUNCTION(
			"c", "push %rbx; lea a(%rip), %rdi; test %esi, %esi;"
			     "lea b(%rip), %rax; cmovne %rax, %rdi;"
			     "call " ENTER "@PLT; pop %rbx; ret")
				  FUNCTION("d",
					   "mov %rsi, %rdi; jmp " EXIT "@PLT")),
		0);
}

TEST(code_packs_a_plan_and_unpacks_the_same)
{
	struct bytes bytes = { 0 };
	struct code_plan *again;
	uint32_t numbers = 0;

	plan_variety();
	ck_assert_uint_eq(sites_of(2), 1);
	bytes_put(&bytes, "x", 1); /* makes all later reads unaligned */
	code_pack(g_plan, &bytes);
	ck_assert_int_eq(code_unpack(bytes.at + 1, bytes.count - 1, &again), 0);
	ck_assert_uint_eq(again->function_count, g_plan->function_count);
	for (size_t i = 0; i < again->function_count; i++) {
		const struct code_function *one = &g_plan->functions[i];
		const struct code_function *other = &again->functions[i];

		ck_assert(one->address == other->address &&
			  one->slot == other->slot &&
			  one->refused == other->refused &&
			  one->entry_build == other->entry_build &&
			  one->refused_at == other->refused_at &&
			  one->first == other->first &&
			  one->count == other->count);
		numbers += one->count;
	}
	ck_assert_mem_eq(again->function_sites, g_plan->function_sites,
			 numbers * sizeof(numbers));
	ck_assert_uint_eq(again->site_count, g_plan->site_count);
	ck_assert_mem_eq(again->sites, g_plan->sites,
			 g_plan->site_count * sizeof(*g_plan->sites));
	numbers = 0;
	for (size_t i = 0; i < again->site_count; i++)
		numbers += again->sites[i].count;
	ck_assert_mem_eq(again->site_functions, g_plan->site_functions,
			 numbers * sizeof(numbers));
	ck_assert_uint_eq(again->unknown_sites, g_plan->unknown_sites);
	ck_assert_ptr_null(again->work);
	code_plan_free(&again);
	bytes_release(&bytes);
}

static void walk(const struct code_plan *plan)
{
	for (size_t i = 0; i < plan->function_count; i++)
		for (uint32_t j = 0; j < plan->functions[i].count; j++)
			ck_assert_uint_lt(
				plan->function_sites[plan->functions[i].first +
						     j],
				plan->site_count);
	for (size_t i = 0; i < plan->site_count; i++) {
		ck_assert_uint_lt(plan->sites[i].form, CODE_FORMS);
		ck_assert(i == 0 || plan->sites[i].address >=
					    plan->sites[i - 1].address +
						    plan->sites[i - 1].length);
		for (uint32_t j = 0; j < plan->sites[i].count; j++)
			ck_assert_uint_lt(
				plan->site_functions[plan->sites[i].first + j],
				plan->function_count);
	}
}

TEST(code_unpacks_no_plan_that_would_lead_out_of_its_tables)
{
	struct bytes bytes = { 0 };
	struct code_plan *plan;
	uint64_t random = 4711;
	unsigned int unpacked = 0;

	plan_variety();
	code_pack(g_plan, &bytes);
	for (size_t size = 0; size < bytes.count; size++)
		ck_assert_int_eq(code_unpack(bytes.at, size, &plan), -EBADMSG);
	for (int round = 0; round < 20000; round++) {
		size_t at = next_random(&random) % bytes.count;
		uint8_t was = bytes.at[at];
		int err;

		bytes.at[at] = (uint8_t)next_random(&random);
		err = code_unpack(bytes.at, bytes.count, &plan);
		ck_assert(err == 0 || err == -EBADMSG || err == -ENOMEM);
		ck_assert(!err == !!plan);
		unpacked += !err;
		if (plan)
			walk(plan);
		code_plan_free(&plan);
		bytes.at[at] = was;
	}
	ck_assert_uint_gt(unpacked, 0);
	ck_assert_uint_lt(unpacked, 20000);
	bytes_release(&bytes);
}

static int fail_to_read(void *context, uint64_t offset, size_t bytes, void *out,
			size_t *got)
{
	if (offset >= *(uint64_t *)context)
		return -EIO;
	memset(out, 0, bytes);
	memcpy(out,
	       "\x7f"
	       "ELF\2\1\1",
	       7);
	*got = bytes;
	return 0;
}

/* An unreadable file was reported as "not an ELF file", which is no error. */
TEST(code_tells_an_error_from_a_short_file, EACH(0, 2))
{
	uint64_t readable = (uint64_t)_i << 16;
	const struct code_input input = { .read = fail_to_read,
					  .size = 1 << 20,
					  .context = &readable };
	const int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_eq(code_plan_begin(&input, NULL, &g_plan, &g_why),
			 _i ? -ENOEXEC : -EIO);
	ck_assert_str_eq(g_why, _i ? "not an ELF file for this machine"
				   : "it cannot be read");
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(code_plan_new(fd, NULL, &g_plan, &g_why), -EISDIR);
	close(fd);
}

TEST(code_says_why_there_is_no_plan)
{
	const struct code_limits small = { 16, 1u << 20 };
	const struct code_limits poor = { 1u << 20, 1024 };

	ck_assert_int_eq(plan_code(FUNCTION("a", "ret")), -ENODATA);
	ck_assert_ptr_null(g_plan);
	ck_assert_int_eq(plan_code(PLAIN("a") ".globl " ENTER ";" ENTER
					      ": ret; .type " ENTER
					      ", @function;"),
			 -EPERM);
	ck_assert_int_eq(plan_code(PLAIN("a")), 0);
	forget();
	ck_assert_int_eq(plan_file("./code.so", &small), -EFBIG);
	ck_assert_int_eq(plan_file("./code.so", &poor), -ENOMEM);
	ck_assert_int_eq(plan_file("./code.c", NULL), -ENOEXEC);
}

/* --- entry builds -------------------------------------------------------- */

TEST(code_finds_the_exits_of_an_entry_build)
{
	ck_assert_int_eq(
		plan_code(STUB FUNCTION(
			"a", "1: call stub; mov (%rdi), %r11; test %esi, %esi;"
			     "jne 2f;" NOP "ret; .p2align 4; 2: nop;" NOP
			     "jmp *%r11") ENTRIES(".long 1b - .")),
		0);
	ck_assert_uint_eq(g_plan->function_count, 1);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	ck_assert_uint_eq(g_plan->site_count, 3);
	ck_assert_uint_eq(g_plan->sites[0].form, CODE_ENTRY_CALL);
	ck_assert(!g_plan->sites[1].r11_live && g_plan->sites[2].r11_live);
	ck_assert_uint_eq(g_plan->sites[1].form, CODE_EXIT_RETURN);
	ck_assert_uint_eq(g_plan->sites[2].form, CODE_EXIT_NOP);
	ck_assert(g_plan->functions[0].entry_build);
}

/* A function that others call, so a jump to it leaves the caller. */
#define CALLED(name, body) "call " name ";" FUNCTION(name, body)

TEST(code_knows_the_calls_and_the_notes_of_other_linkers)
{
	/* mold pads notes to 8 and to 4 bytes in one segment, and turns the
	 * indirect call through the GOT into a direct one. */
	ck_assert_int_eq(
		plan_code(STUB FUNCTION(
			"a",
			"1: nop; call stub;" NOP
			"ret") ".section .note.perfrec,\\\"a\\\",@note;"
			       ".balign 8;"
			       ".long 4,20,3; .asciz \\\"GNU\\\"; .zero 20;"
			       ".balign 8; .long 4,16,77;"
			       ".asciz \\\"GNU\\\"; .zero 16;"
			       ".long 8,4,1; .asciz \\\"perfrec\\\"; .long 1;"
			       ".previous; .section .perfrec.entries,"
			       "\\\"a\\\",@progbits; .long 1b - .;"
			       ".previous;"),
		0);
	ck_assert_uint_eq(refused(CODE_NOT_REFUSED), 1);
	ck_assert_uint_eq(g_plan->site_count, 2);
	ck_assert_uint_eq(g_plan->sites[0].form, CODE_ENTRY_CALL);
	ck_assert_uint_eq(g_plan->sites[0].length, 5);
}

/* The only exit of a function with body @code must have @r11_live. */
static void check_exit(const char *code, const char *others, bool r11_live)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 STUB "%s" FUNCTION("a", "1: call stub; %s")
			 ENTRIES(".long 1b - ."),
		 others, code);
	ck_assert_int_eq(plan_code(text), 0);
	ck_assert_msg(refused(CODE_NOT_REFUSED) == 1, "%s", code);
	ck_assert_uint_eq(g_plan->site_count, 2);
	ck_assert_msg(g_plan->sites[1].r11_live == r11_live, "%s", code);
	forget();
}

#define RETPOLINE                                                        \
	CALLED("b", "call 4f; 3: pause; lfence; jmp 3b; .p2align 4; 4: " \
		    "mov %r11, (%rsp); ret")
#define LOAD "mov (%rdi), %r11;"

TEST(code_sees_where_r11_is_needed)
{
	/* The target of the jump uses the value, however far away. */
	check_exit(LOAD NOP "jmp b", RETPOLINE, true);
	check_exit(LOAD "jmp 2f; ud2; 2:" NOP "jmp b", RETPOLINE, true);
	check_exit(LOAD "jmp 2f; ud2; 2:" NOP "jmp c",
		   RETPOLINE CALLED("c", "jmp b"), true);
	check_exit(LOAD "jmp 2f; ud2; 2:" NOP "jmp b",
		   CALLED("b", "2: dec %ecx; jns 2b; test %esi, %esi;"
			       "je 3f; xor %r11d, %r11d; 3: jmp *%r11"),
		   true);
	/* A jump to unknown code directly after a value was put into r11. */
	check_exit(LOAD NOP "jmp *got(%rip)", ".data; got: .quad 0; .text;",
		   true);
	check_exit(NOP "jmp *(%rax, %rdx)", "", true);
	/* r11 is overwritten first, or unused. */
	check_exit("nop;" NOP "jmp b",
		   CALLED("b", "xor %r11d, %r11d; mov %r11, %rax; ret"), false);
	check_exit("nop;" NOP "jmp b",
		   CALLED("c", "inc %eax; ret")
			   CALLED("b", "call c; mov %r11, %rax; ret"),
		   false);
	check_exit("nop;" NOP "jmp *%rax", "", false);
	check_exit(LOAD "mov %r11, %rax;" NOP "ret", "", false);
}

TEST(code_refuses_entries_with_a_value_in_r11)
{
	static const char *const uses[] = {
		"push %r11; pop %r11;" NOP "ret",
		"test %esi, %esi; jne 2f; xor %r11d, %r11d; 2: cmovne %rsi, "
		"%r11;" NOP "ret",
		"mov (%rsi, %r11, 8), %rax;" NOP "ret",
		NOP "jmp b",
	};
	char text[1024];

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		snprintf(text, sizeof(text),
			 STUB CALLED("b", "add %%r11, %%rax; ret")
				 FUNCTION("a", "1: call stub; %s")
					 ENTRIES(".long 1b - ."),
			 uses[i]);
		ck_assert_int_eq(plan_code(text), 0);
		ck_assert_msg(refused(CODE_VALUE_IN_R11) == 1, "%s", uses[i]);
		forget();
	}
}

TEST(code_refuses_entries_that_are_not_as_they_must_be)
{
	ck_assert_int_eq(plan_code(STUB FUNCTION("a", "1: call stub; ret")
					   ENTRIES(".long 1b - .")),
			 0);
	ck_assert_uint_eq(refused(CODE_EXIT_MISSING), 1);
	forget();
	ck_assert_int_eq(
		plan_code(STUB FUNCTION("a", "1: call stub; test %esi, %esi;"
					     "jne 2f;" NOP "2: ret")
				  ENTRIES(".long 1b - .")),
		0);
	ck_assert_uint_eq(refused(CODE_EXIT_MISSING), 1);
	forget();
	ck_assert_int_eq(plan_code("stub: nop; ret;" FUNCTION(
				 "a", "1: call stub;" NOP "ret")
					   ENTRIES(".long 1b - .")),
			 0);
	ck_assert_uint_eq(refused(CODE_STUB_NOT_OURS), 1);
}
