# The programs of the end-to-end tests in which somebody dies or misbehaves.
ROBUST_PROGS = $(addprefix $(O)/tests/progs/,witness killer gaps hostile)

check-e2e: $(ROBUST_PROGS)
