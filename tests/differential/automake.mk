# Differential tests: judges that must agree about random intents and packets.
check_PROGRAMS += tests/differential/differential
tests_differential_differential_SOURCES = \
	tests/differential/differential.c \
	tests/differential/live.c \
	tests/differential/live.h \
	tests/differential/outcome.c \
	tests/differential/outcome.h \
	tests/differential/questions-text.c \
	tests/differential/questions.c \
	tests/differential/questions.h \
	tests/differential/random.h \
	tests/differential/tables.c \
	tests/differential/tables.h \
	tests/differential/world-text.c \
	tests/differential/world.c \
	tests/differential/world.h
tests_differential_differential_LDADD = $(BULKHEAD_LIBS)

TESTS += tests/differential/differential-test.sh
EXTRA_DIST += \
	tests/differential/differential-test.sh
