# perfrec: one file builds everything; objects go to $(O), never into the tree.
# `make help` lists the targets.

O	?= build
PREFIX	?= /usr/local
LIBDIR	?= $(PREFIX)/lib
# For what a build itself runs.
HOSTCC	?= $(CC)
# Messages of a sanitizer have line numbers but no variables, and -g1 halves the
# time to compile.
CFLAGS	?= $(if $(SAN),-O1 -g1,-O2 -g)
V	?= 0
SAN	?=

Q	= $(if $(filter 1,$(V)),,@)
say	= $(if $(filter 1,$(V)),@:,@printf '  %-7s %s\n')

VERSION	= 0.1.0
MACHINE	:= $(shell uname -m)
# No package is asked for while this file is parsed: `make demo` and
# `make check` start on a machine that has none.
PKGS	= libprotobuf-c libelf jansson libdeflate liblzma libmicrohttpd
PKG_CFLAGS = $(shell pkg-config --cflags $(PKGS))
# libunwind has a library for each machine whose stacks it can unwind from
# outside, beside the one for unwinding oneself. The shim links none of these
# libraries.
PKG_LIBS = $(shell pkg-config --libs $(PKGS)) -liberty -lz -lpthread -lm \
	  -Wl,--as-needed -lunwind-$(MACHINE) -lunwind -lZydis -Wl,--no-as-needed \
	  $(COVER_LIBS)
CHECK_LIBS = $(shell pkg-config --libs check)

# With a sanitizer gcc knows less about values, and warns where nothing is wrong.
WARN	= $(if $(SAN),-w,-Wall -Wextra -Werror -Wshadow -Wpointer-arith \
	  -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 \
	  -Wno-format-nonliteral)
SANFLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(SAN_OPT) $(SAN_MACROS))
# More flags for code with a sanitizer; the shim has none.
SAN_OPT =
# gcc defines these macros by itself.
SAN_MACROS = $(if $(findstring clang,$(CC)),\
	  $(if $(findstring address,$(SAN)),-D__SANITIZE_ADDRESS__) \
	  $(if $(findstring thread,$(SAN)),-D__SANITIZE_THREAD__))
# With AddressSanitizer, gcc shows libFuzzer which code of the collector an input
# reaches (tests/fuzz/count_edges.c). clang does so for SAN=fuzzer-no-link.
EDGES	= $(and $(findstring address,$(SAN)),$(if $(findstring \
	  clang,$(CC)),,$(wildcard tests/fuzz/count_edges.c)))
EDGE_FLAGS = $(if $(EDGES),-fsanitize-coverage=trace-pc)
# COVER=1: clang counts the lines of the collector and of the shim that run; make
# coverage. Its library is the last one, so that its definition of the counters
# wins.
COVER_FLAGS = $(if $(COVER),-fcoverage-mapping -mllvm -runtime-counter-relocation \
	  -fprofile-instr-generate=$(abspath $(O))/coverage/%m%c.profraw)
COVER_LIBS = $(if $(COVER),-u__llvm_profile_runtime $(shell $(CC) \
	  -print-file-name=libclang_rt.profile-$(MACHINE).a))
SHIM_COVER = $(if $(COVER),$(O)/tests/coverage/shim_counters.os)
# LOCK_CHECK: collector/base/lock.h.
DEFS	= -D_GNU_SOURCE -DPERFREC_VERSION='"$(VERSION)"' $(LOCK_CHECK)
LOCK_CHECK = $(if $(SAN)$(DEBUG),-DLOCK_CHECK)
# '=', not ':=': $@ is the object's own name only when a recipe expands it.
BASE	= -std=gnu11 $(WARN) $(DEFS) -iquote . -iquote $(O) -MMD -MP -MF $@.d

COLLECTOR_MAINS = collector/serve/collect_main.c \
	  collector/command/perfrec_main.c collector/names/symbolize_main.c \
	  collector/names/reader_main.c collector/push/push_main.c \
	  collector/options/opts_dump_main.c
COLLECTOR_SRC = $(filter-out $(COLLECTOR_MAINS),$(wildcard collector/*/*.c \
	  collector/*/x86_64/*.c)) \
	  $(wildcard shared/*.c)
PROTO	= $(patsubst %.proto,$(O)/%.pb-c,$(wildcard proto/*.proto))
COLLECTOR_ASM = $(wildcard collector/*/$(MACHINE)/*_$(MACHINE).S)
COLLECTOR_OBJ = $(COLLECTOR_SRC:%.c=$(O)/%.o) $(COLLECTOR_ASM:%.S=$(O)/%.o) \
	  $(PROTO:%=%.o) $(EDGES:%.c=$(O)/%.o)
# In the collector only: it times what the shim does (shared/own_cost.h).
OWN_COST = $(O)/preload/start/own_cost.os
PRELOAD_SRC = $(filter-out preload/start/own_cost.c,$(wildcard preload/*/*.c))
PRELOAD_ASM = $(wildcard preload/*/*_$(MACHINE).S)
PRELOAD_OBJ = $(PRELOAD_SRC:%.c=$(O)/%.os) $(PRELOAD_ASM:%.S=$(O)/%.os)
SHIM	= $(O)/libperfrec_preload.so

.PHONY: all
all: $(SHIM) $(O)/perfrec-collect $(O)/perfrec $(O)/perfrec-symbolize \
		$(O)/perfrec-reader $(O)/perfrec-push \
		$(O)/entry.specs completion

.PHONY: help
help:
	@echo 'make              build perfrec into $(O)/'
	@echo 'make demo         install what is missing, build, record an example'
	@echo 'make check        install what is missing, build, pass the tests but the long ones'
	@echo 'make check-fast   unit tests, shim tests, some of the rest: about a minute'
	@echo 'make check-full   check, the long tests, most targets of this list in little'
	@echo 'make install      to PREFIX ($(PREFIX)) below DESTDIR; make uninstall'
	@echo 'make deb          a Debian package in $(O)/; check-deb tries it in a chroot'
	@echo 'make bench        measure perfrec beside floors and peers (bench-quick)'
	@echo 'make bench-overhead, bench-budget, bench-true-time   cost and true times within a budget'
	@echo 'make check-page   the page of report --html, driven in a headless Chromium'
	@echo 'make check-viewers   traces by the rules of Perfetto, exports in speedscope and Firefox (npm)'
	@echo 'make check-push   perfrec-push beside real servers of its protocols (npm)'
	@echo 'make lint-web     its JavaScript: types and mistakes (npm fetches the checkers)'
	@echo 'make check-page-real   its recorded part, with Lua and SQLite from their sources'
	@echo 'make page-look    pictures of each tab of five recordings, for a person to look at'
	@echo 'make bench-page   the page of a trace of 100 million spans (2.3 GB)'
	@echo 'make bench-flight the flight recorder: cost of a snapshot, planted slow requests (3 minutes)'
	@echo 'make bench-locks  what an uncontended pair of lock and unlock costs more'
	@echo 'make bench-patch  what a call costs with record --patch, by state'
	@echo 'make bench-push   what --push costs a daemon with 200 programs (3 minutes)'
	@echo 'make bench-push-away  --push while no server takes anything (half an hour)'
	@echo 'make bench-large  10^9 spans, and 1,000 threads: what they cost (10 GB, 20 minutes)'
	@echo 'make lint         style, layers, atomics, exports, man pages (format)'
	@echo 'make check-asan   unit tests, fuzz targets and collector under ASan, UBSan'
	@echo 'make check-tsan   threaded tests, rings and collector under TSan'
	@echo 'make coverage     lines of collector/ and preload/ that all tests run together'
	@echo 'make check-real   real programs from their sources, some by perfrec cc'
	@echo 'make check-nptl   tests of glibc for threads and locks, plain and recorded (10 minutes)'
	@echo 'make check-patch  16 programs as Debian ships them, each call recorded (20 minutes)'
	@echo 'make check-real-overhead   some of them within a budget, beside perf'
	@echo 'make check-truth  the first table beside perf, for all builds and budgets (25 minutes)'
	@echo 'make check-soak   a daemon under 500 programs a minute for ten minutes'
	@echo 'make check-diff   perfrec diff finds no change in 50 comparisons of equal runs'
	@echo 'make check-flips  states of functions change for long in a busy program'
	@echo 'make check-torture  each system call of the shim fails in turn'
	@echo 'make check-kill   100 collectors and programs are killed: trace and index hold'
	@echo 'make check-whom   holders and wakers beside logs of programs (10 minutes)'
	@echo 'make check-what-if  perfrec what-if beside runs with faster functions (1 minute)'
	@echo 'make check-ranges  1,000 random ranges: cuts and reports of them hold'
	@echo 'make torture RUNS=N programs that do everything at once, recorded in 8 ways'
	@echo 'make fuzz         new inputs by libFuzzer (clang): TIME=SECONDS TARGET="X ..."'
	@echo 'make check-arm64  the shim and the rings for arm64, in an emulator'
	@echo 'make attacks      what each attack on a daemon costs a program beside it'
	@echo 'make check-loop   unit, shim and stress tests until one fails'
	@echo 'make check-unit, check-shim, check-e2e, check-stress   parts of the tests'
	@echo 'make clean        remove $(O)/'
	@echo
	@echo 'O=DIR where objects go; V=1 shows commands; CC, CFLAGS, LDFLAGS, PREFIX,'
	@echo 'DESTDIR as usual; SAN=address,undefined or SAN=thread for the collector;'
	@echo 'DEBUG=1: the collector checks the order of its locks'

# The two commands of the README. Each runs make anew, once pkg-config and
# the libraries are there.
.PHONY: demo check check-full
demo:
	$(Q)sh scripts/install-deps.sh build
	$(Q)$(MAKE) --no-print-directory all
	$(Q)O=$(O) sh scripts/demo.sh
check:
	$(Q)sh scripts/install-deps.sh build check
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) check-programs
	$(Q)$(MAKE) --no-print-directory SHORT=1 check-all
# SHORT=1 leaves out the tests that are marked as long; here they run.
check-full:
	$(Q)sh scripts/install-deps.sh build check
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) check-programs
	$(Q)$(MAKE) --no-print-directory check-all check-targets

# Contributors run it often (tests/README.md).
.PHONY: check-fast
check-fast:
	$(Q)$(MAKE) --no-print-directory $(ALL_CPUS) check-programs
	$(Q)$(MAKE) --no-print-directory SHORT=1 check-suites
	$(Q)O=$(O) sh scripts/run-e2e.sh $(E2E_QUICK)

# Unit and shim tests are one pool, the longest first, so no CPU is idle at the end of
# one kind.
.PHONY: check-all check-suites check-programs check-targets
check-all: check-suites check-fuzz check-e2e check-torture check-page
check-suites: check-programs
	$(Q)$(if $(SHORT),CK_EXCLUDE_TAGS=slow) O=$(O) \
		sh scripts/run-suites.sh $(SHIM_TESTS) $(UNIT_SUITES)
# Each target once, with small counts.
check-targets: check-programs
	$(Q)O=$(O) MAKE='$(MAKE)' sh scripts/check-targets.sh
# All CPUs compile the programs of tests, unless -jN says how many.
ALL_CPUS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: deb check-deb
deb:
	$(Q)sh scripts/make-deb.sh $(VERSION) $(O)
check-deb: deb
	$(Q)sh scripts/check-deb.sh $(O)/perfrec_$(VERSION)_*.deb

.PHONY: install uninstall clean
MANS	= $(notdir $(wildcard docs/man/*.[1-9]))
UNITDIR	= $(PREFIX)/lib/systemd/user
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR) \
		$(DESTDIR)$(PREFIX)/libexec/perfrec \
		$(DESTDIR)$(UNITDIR) \
		$(DESTDIR)$(PREFIX)/include $(DESTDIR)$(LIBDIR)/pkgconfig \
		$(addprefix $(DESTDIR)$(PREFIX)/share/man/,man1 man3 man5 man7)
	install -m 755 $(O)/perfrec $(O)/perfrec-collect $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(O)/perfrec-symbolize $(O)/perfrec-reader \
		$(O)/perfrec-push $(DESTDIR)$(PREFIX)/libexec/perfrec
	install -m 644 $(O)/entry.specs $(DESTDIR)$(PREFIX)/libexec/perfrec
	install -m 644 $(SHIM) $(DESTDIR)$(LIBDIR)
	install -m 644 preload/perfrec.h $(DESTDIR)$(PREFIX)/include
	for c in $(COMPLETIONS); do install -D -m 644 $(O)/completion/$$c \
		$(DESTDIR)$(PREFIX)/share/$$c; done
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' dist/perfrec.pc \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/perfrec.pc
	chmod 644 $(DESTDIR)$(LIBDIR)/pkgconfig/perfrec.pc
	sed 's|@BINDIR@|$(PREFIX)/bin|' dist/perfrec-collect.service \
		>$(DESTDIR)$(UNITDIR)/perfrec-collect.service
	chmod 644 $(DESTDIR)$(UNITDIR)/perfrec-collect.service
	for m in $(MANS); do install -m 644 docs/man/$$m \
		$(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$m; done
uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,perfrec perfrec-collect) \
		$(DESTDIR)$(PREFIX)/libexec/perfrec/perfrec-symbolize \
		$(DESTDIR)$(PREFIX)/libexec/perfrec/perfrec-reader \
		$(DESTDIR)$(PREFIX)/libexec/perfrec/perfrec-push \
		$(DESTDIR)$(PREFIX)/libexec/perfrec/entry.specs \
		$(DESTDIR)$(LIBDIR)/$(notdir $(SHIM)) \
		$(DESTDIR)$(PREFIX)/include/perfrec.h \
		$(DESTDIR)$(LIBDIR)/pkgconfig/perfrec.pc \
		$(DESTDIR)$(UNITDIR)/perfrec-collect.service \
		$(addprefix $(DESTDIR)$(PREFIX)/share/,$(COMPLETIONS))
	for m in $(MANS); do \
		rm -f $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$$m; done
clean:
	rm -rf $(O)

# --- the shim: position independent, self-contained, never a sanitizer -----
$(O)/preload/%.os: preload/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SHIM_CFLAGS) $(COVER_FLAGS) -c -o $@ $<
$(O)/preload/%.os: preload/%.S
	$(say) AS $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
SHIM_CFLAGS = -fPIC -fvisibility=hidden -ftls-model=initial-exec \
	  -fno-stack-protector \
	  $(if $(findstring clang,$(CC)),,-fno-instrument-functions) \
	  -fno-exceptions -fasynchronous-unwind-tables -fno-sanitize=all \
	  -U_FORTIFY_SOURCE $(SHIM_CFLAGS_$(MACHINE))
# libgcc's atomics ask the C library for the CPU's abilities.
SHIM_CFLAGS_aarch64 = -mno-outline-atomics
# alloc.h, alloc_caller_fill(): these files leave alone what a callee saves,
# and exceptions pass through them.
ALLOC_REGS_x86_64 = $(if $(findstring clang,$(CC)),, \
	  -ffixed-rbx -ffixed-rbp -ffixed-r12 -ffixed-r13 -ffixed-r14 -ffixed-r15)
ALLOC_REGS_aarch64 = $(foreach r,19 20 21 22 23 24 25 26 27 28,-ffixed-x$r)
$(O)/preload/alloc/interpose_alloc.os $(O)/preload/alloc/interpose_alloc_cxx.os: \
	SHIM_CFLAGS += -fno-builtin -fexceptions \
	$(ALLOC_REGS_$(MACHINE))
# The compiler must not turn the shim's memcpy() into a call of memcpy().
$(O)/preload/core/bytes.os: SHIM_CFLAGS += -fno-builtin \
	$(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)
# The shim imports no symbol, and calls none of its exported functions by name,
# because a program may define the same name. The C library is named for the order
# of constructors.
$(SHIM): $(PRELOAD_OBJ) $(SHIM_COVER) preload/perfrec.map $(O)/shim.list \
		scripts/join-relocations.sh
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) \
		-nostdlib -Wl,-z,now,-z,relro,-z,defs,-z,nodelete,-Bsymbolic \
		-Wl,--version-script=preload/perfrec.map -o $@.new $(PRELOAD_OBJ) $(SHIM_COVER) \
		-Wl,--no-as-needed -lc -lgcc
	$(Q)sh scripts/join-relocations.sh $@.new && mv $@.new $@

# The collector's copy of it has one name, so that nothing is interposed there,
# and no constructor, so that nothing starts.
OBJCOPY	?= objcopy
$(O)/own_cost.o: $(OWN_COST) $(PRELOAD_OBJ)
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) -nostdlib -r -o $@.all $^
	$(Q)$(OBJCOPY) --keep-global-symbol=own_cost_ns \
		--keep-global-symbol=own_cost_halves \
		--keep-global-symbol=own_cost_sample_ns \
		$(if $(COVER),--keep-global-symbol=__llvm_profile_counter_bias) \
		--remove-section=.init_array --remove-section=.rela.init_array \
		$@.all $@
	$(Q)rm -f $@.all

# make keeps intermediate files.
.SECONDARY:

# --- the collector and the command -----------------------------------------
$(O)/collector/%.o: collector/%.c $(PROTO:%=%.h)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(EDGE_FLAGS) \
		$(COVER_FLAGS) $(PKG_CFLAGS) -c -o $@ $<
# clang's assembler does not know all directives in these files.
$(O)/collector/%.o: collector/%.S
	$(say) AS $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) \
		$(if $(findstring clang,$(CC)),-fno-integrated-as) -c -o $@ $<
$(O)/shared/%.o: shared/%.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(EDGE_FLAGS) \
		$(COVER_FLAGS) -c -o $@ $<
$(O)/proto/%.pb-c.c $(O)/proto/%.pb-c.h &: proto/%.proto
	$(say) PROTOC $<
	$(Q)mkdir -p $(O)/proto
	$(Q)protoc-c --proto_path=proto --c_out=$(O)/proto $<
$(O)/proto/%.o: $(O)/proto/%.c
	$(say) CC $@
	$(Q)$(CC) -std=gnu11 -iquote $(O) -I$(O)/proto $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) -c -o $@ $<
$(O)/libcollector.a: $(COLLECTOR_OBJ) $(O)/own_cost.o $(O)/collector.list
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
$(O)/perfrec-collect: $(O)/collector/serve/collect_main.o $(O)/libcollector.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS)
$(O)/perfrec: $(O)/collector/command/perfrec_main.o $(O)/libcollector.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(PKG_LIBS) \
		$(shell pkg-config --libs ncursesw)

# The table of all options as text, for completion and for scripts/check-man.sh.
# Made by a program of a few files that needs no library, and never has a
# sanitizer: it runs while perfrec is built.
OPTS_DUMP = $(addprefix collector/,options/opts_dump_main.c options/opts_table.c \
	  options/opts_value.c options/categories.c base/size.c)
$(O)/opts-dump: $(OPTS_DUMP) $(wildcard collector/options/*.h shared/*.h) \
		collector/options/opts.def
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(HOSTCC) $(BASE) -o $@ $(OPTS_DUMP)
$(O)/options.tsv: $(O)/opts-dump
	$(Q)$< >$@.new && mv $@.new $@

# Files that `make install` copies into PREFIX/share.
COMPLETIONS = bash-completion/completions/perfrec \
	  bash-completion/completions/perfrec-collect \
	  zsh/site-functions/_perfrec \
	  fish/vendor_completions.d/perfrec.fish \
	  fish/vendor_completions.d/perfrec-collect.fish
.PHONY: completion
completion: $(addprefix $(O)/completion/,$(COMPLETIONS))
complete = $(Q)mkdir -p $(@D) && awk -v shell=$(1) -v program=$(2) \
	  -f scripts/completion.awk $(O)/options.tsv dist/completion/$(3) >$@.new && mv $@.new $@
COMPLETE_FROM = $(O)/options.tsv scripts/completion.awk $(wildcard dist/completion/*)
$(O)/completion/bash-completion/completions/%: $(COMPLETE_FROM)
	$(call complete,bash,$*,perfrec.bash)
$(O)/completion/zsh/site-functions/_perfrec: $(COMPLETE_FROM)
	$(call complete,zsh,perfrec,_perfrec)
$(O)/completion/fish/vendor_completions.d/%.fish: $(COMPLETE_FROM)
	$(call complete,fish,$*,perfrec.fish)

# `perfrec cc --hooks=entry` passes this file to gcc.
$(O)/entry.specs: dist/entry.s scripts/entry-specs.awk
	$(say) SPECS $@
	$(Q)mkdir -p $(@D)
	$(Q)awk -f scripts/entry-specs.awk dist/entry.s >$@.new && mv $@.new $@

# The page of `perfrec report --html`, without data: one file of many.
PAGE_WEB = $(wildcard collector/page/web/*.html collector/page/web/*.css \
	  collector/page/web/*.js)
$(O)/page_template.html: collector/page/web/page.html $(PAGE_WEB) \
		scripts/page-template.awk
	$(say) PAGE $@
	$(Q)mkdir -p $(@D)
	$(Q)awk -f scripts/page-template.awk $< >$@.new && mv $@.new $@
$(O)/collector/page/page_template.o: $(O)/page_template.html
$(O)/collector/page/page_template.o: override CPPFLAGS += \
		-DPAGE_TEMPLATE='"$(abspath $(O))/page_template.html"'

# No other program links libdw.
$(O)/perfrec-symbolize: $(O)/collector/names/symbolize_main.o $(O)/libcollector.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ \
		$(shell pkg-config --libs libdw libelf) $(COVER_LIBS)
# It starts for each recording: few libraries.
$(O)/perfrec-reader: $(O)/collector/names/reader_main.o $(O)/libcollector.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ \
		$(shell pkg-config --libs libelf liblzma) -lz -lZydis $(COVER_LIBS)
# No other program connects to a network.
PUSH_PKGS = libcurl libprotobuf-c jansson libdeflate
$(O)/perfrec-push: $(O)/collector/push/push_main.o $(O)/libcollector.a
	$(say) LD $@
	$(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ $^ \
		$(shell pkg-config --libs $(PUSH_PKGS)) -lz $(COVER_LIBS)

# --- rebuilding -----------------------------------------------------------------
# make compiles all objects again when flags may have changed. It links a library
# again when an object was removed: make writes a list of objects only when
# the list differs.
$(COLLECTOR_OBJ) $(COLLECTOR_MAINS:%.c=$(O)/%.o) $(PRELOAD_OBJ) $(OWN_COST): Makefile
.PHONY: FORCE
# The lists name objects without $(O), which may be given in several ways.
SHIM_LIST = $(PRELOAD_OBJ:$(O)/%=%)
COLLECTOR_LIST = $(COLLECTOR_OBJ:$(O)/%=%)
# FORCE, if what the file $1 says is another list of names than $2.
if_differs = $(if $(filter-out $(file <$1),$2)$(filter-out $2,$(file <$1)),FORCE)
$(O)/shim.list: $(call if_differs,$(O)/shim.list,$(SHIM_LIST))
	$(Q)mkdir -p $(@D) && echo $(SHIM_LIST) >$@
$(O)/collector.list: $(call if_differs,$(O)/collector.list,$(COLLECTOR_LIST))
	$(Q)mkdir -p $(@D) && echo $(COLLECTOR_LIST) >$@
# A struct lock is larger with LOCK_CHECK: all objects are with it, or none is.
$(COLLECTOR_OBJ) $(COLLECTOR_MAINS:%.c=$(O)/%.o): $(O)/lock_check.list
$(O)/lock_check.list: $(call if_differs,$(O)/lock_check.list,locks $(LOCK_CHECK))
	$(Q)mkdir -p $(@D) && echo locks $(LOCK_CHECK) >$@

# --- tests, and what else is no part of the product --------------------------
# With COVER, clang compiles the sources whose lines are counted. Programs of
# tests need gcc, also programs that scripts compile with CC of their environment.
HOST_CC	= $(if $(COVER),$(HOSTCC),$(CC))
TEST_CC	= $(HOST_CC) $(BASE) $(CPPFLAGS) $(CFLAGS)
ifdef COVER
unexport CC CFLAGS HOSTCC WARN COVER
endif
# Programs that contain the collector are compiled and linked apart: a change of
# the collector links them again, and compiles none.
$(O)/tests/%.o: tests/%.c $(PROTO:%=%.h)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(CPPFLAGS) $(CFLAGS) $(SANFLAGS) $(PKG_CFLAGS) -c -o $@ $<
link_collector = $(Q)$(CC) $(CFLAGS) $(SANFLAGS) $(LDFLAGS) -o $@ \
	  $(filter %.o,$^) $(filter %.a,$^)
# The order matters: some folders use names of earlier folders. The product can be
# built without the folders of tests.
include $(wildcard $(patsubst %,tests/%/rules.mk,tools progs unit shim attacks e2e torture fuzz \
	  stress real bench page viewers push) scripts/lint.mk scripts/sanitize.mk)

# Here, where the lists of the folders are known.
check-programs: all unit-tests shim-tests e2e-programs fuzz-targets $(STRESS) $(BENCH) \
		$(LARGE_PROGS) $(BENCH_LOADS) $(O)/tests/torture/deny $(EVERYTHING)

# Not the files below real/: real programs (make check-real) write their own there.
-include $(shell find $(O) -path $(O)/real -prune -o -name '*.d' -type f -print 2>/dev/null)
