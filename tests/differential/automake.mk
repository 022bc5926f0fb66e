# Random intents, random packets for them, and what becomes of these: what
# several tests draw by lot.
check_LIBRARIES = tests/differential/libworlds.a
tests_differential_libworlds_a_SOURCES = \
	tests/differential/draft-connection.c \
	tests/differential/draft.h \
	tests/differential/edits.c \
	tests/differential/edits.h \
	tests/differential/outcome-meter.c \
	tests/differential/outcome-packet.c \
	tests/differential/outcome.c \
	tests/differential/outcome.h \
	tests/differential/questions-external.c \
	tests/differential/questions-services.c \
	tests/differential/questions-text.c \
	tests/differential/questions-tunnel.c \
	tests/differential/questions.c \
	tests/differential/questions.h \
	tests/differential/random.h \
	tests/differential/tables.c \
	tests/differential/tables.h \
	tests/differential/world-charge.c \
	tests/differential/world-check.c \
	tests/differential/world-dscp-in.c \
	tests/differential/world-external.c \
	tests/differential/world-late.c \
	tests/differential/world-limits.c \
	tests/differential/world-meters.c \
	tests/differential/world-nested.c \
	tests/differential/world-outside.c \
	tests/differential/world-parts.h \
	tests/differential/world-refusal.c \
	tests/differential/world-selector.c \
	tests/differential/world-shares.c \
	tests/differential/world-text.c \
	tests/differential/world.c \
	tests/differential/world.h
world_libs = tests/differential/libworlds.a $(BULKHEAD_LIBS)

# Differential tests: judges that must agree about random intents and packets.
check_PROGRAMS += tests/differential/differential
tests_differential_differential_SOURCES = \
	tests/differential/differential.c \
	tests/differential/live.c \
	tests/differential/live.h \
	tests/differential/other.c \
	tests/differential/other.h \
	tests/differential/questions-shrink.c \
	tests/differential/relay.c \
	tests/differential/relay.h \
	tests/differential/sample.c \
	tests/differential/sample.h \
	tests/differential/tally.c \
	tests/differential/tally.h
tests_differential_differential_LDADD = $(world_libs)

# The compilation that is kept, against whole ones.
check_PROGRAMS += tests/differential/resident
tests_differential_resident_SOURCES = \
	tests/differential/resident-compare.c \
	tests/differential/resident-compare.h \
	tests/differential/resident-edits.c \
	tests/differential/resident-edits.h \
	tests/differential/resident.c
tests_differential_resident_LDADD = $(world_libs)

TESTS += \
	tests/differential/differential-test.sh \
	tests/differential/packets-test.sh \
	tests/differential/resident-test.sh
EXTRA_DIST += \
	tests/differential/bugs/run \
	tests/differential/differential-test.sh \
	tests/differential/packets-test.sh \
	tests/differential/packets.py \
	tests/differential/resident-test.sh \
	$(wildcard $(srcdir)/tests/differential/bugs/*.patch)

# For bugs/run: the test with $(MUTANT).c in place of the library's file of
# the same functions.
differential-mutant:
	$(COMPILE) -w -c -o '$(MUTANT).o' '$(MUTANT).c'
	$(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o '$(MUTANT)' \
	    $(tests_differential_differential_OBJECTS) '$(MUTANT).o' \
	    $(tests_differential_differential_LDADD) $(LIBS)
.PHONY: differential-mutant
