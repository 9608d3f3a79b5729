# Attacks on a daemon, and an honest program beside them (make attacks).

HOSTILE	= $(O)/tests/attacks/hostile
VICTIM	= $(O)/tests/attacks/victim
HOSTILE_SRC = $(filter-out tests/attacks/victim.c,$(wildcard tests/attacks/*.c))

$(HOSTILE): $(HOSTILE_SRC) tests/attacks/client.h $(wildcard shared/*.h)
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -o $@ $(HOSTILE_SRC) -pthread $(LDFLAGS)
$(VICTIM): tests/attacks/victim.c
	$(say) CC $@
	$(Q)mkdir -p $(@D)
	$(Q)$(TEST_CC) -Wno-missing-prototypes -O1 -fno-builtin-malloc \
		-fno-builtin-free -finstrument-functions -o $@ $<

$(HOSTILE) $(VICTIM): Makefile tests/attacks/rules.mk

# A table of the cost of each attack for the victim. ATTACKS selects some. Each
# takes PAIRS runs alone, and as many beside the attack.
ATTACKS	?=
PAIRS	?= 5
.PHONY: attacks
attacks: all $(HOSTILE) $(VICTIM) $(TOOLS)
	$(Q)O=$(O) PAIRS=$(PAIRS) sh tests/attacks/run.sh $(ATTACKS)
