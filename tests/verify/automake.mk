# The verifier: random intents, whose tables it must prove, and bugs planted in
# them, which it must find.
check_PROGRAMS += tests/verify/mutants
tests_verify_mutants_SOURCES = \
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
	tests/differential/tables.c \
	tests/differential/tables.h \
	tests/verify/mutants.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h \
	$(random_worlds)
tests_verify_mutants_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_mutants_LDADD = $(BULKHEAD_LIBS)

# Errors that another table hides.
check_PROGRAMS += tests/verify/latent
tests_verify_latent_SOURCES = \
	tests/verify/latent.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h \
	$(random_worlds)
tests_verify_latent_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_latent_LDADD = $(BULKHEAD_LIBS)

# Which packets can meet a flow.
check_PROGRAMS += tests/verify/origins
tests_verify_origins_SOURCES = \
	tests/verify/origins.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h \
	$(random_worlds)
tests_verify_origins_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_origins_LDADD = $(BULKHEAD_LIBS)

# The same in several processes.
check_PROGRAMS += tests/verify/jobs
tests_verify_jobs_SOURCES = \
	tests/verify/jobs.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h
tests_verify_jobs_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_jobs_LDADD = $(BULKHEAD_LIBS)

# Whose packets can meet a flow, as flows come and go.
check_PROGRAMS += tests/verify/slices
tests_verify_slices_SOURCES = \
	tests/verify/proving.c \
	tests/verify/proving.h \
	tests/verify/slices.c \
	$(random_worlds)
tests_verify_slices_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_slices_LDADD = $(BULKHEAD_LIBS)

# Random changes of one tenant, proved by itself.
check_PROGRAMS += tests/verify/changes
tests_verify_changes_SOURCES = \
	tests/differential/random.h \
	tests/verify/changes.c \
	tests/verify/lapse.c \
	tests/verify/lapse.h \
	tests/verify/mutate.c \
	tests/verify/mutate.h
tests_verify_changes_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_changes_LDADD = $(BULKHEAD_LIBS)

check_PROGRAMS += tests/verify/meanings
tests_verify_meanings_SOURCES = \
	tests/differential/draft-connection.c \
	tests/differential/draft.h \
	tests/differential/questions-external.c \
	tests/differential/questions-services.c \
	tests/differential/questions-text.c \
	tests/differential/questions-tunnel.c \
	tests/differential/questions.c \
	tests/differential/questions.h \
	tests/verify/meanings.c \
	$(random_worlds)
tests_verify_meanings_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_meanings_LDADD = $(BULKHEAD_LIBS)

# Sets of packets, against BuDDy's.
check_PROGRAMS += tests/verify/oracle
tests_verify_oracle_SOURCES = \
	tests/differential/random.h \
	tests/verify/oracle.c
tests_verify_oracle_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_oracle_LDADD = $(BULKHEAD_LIBS) $(BUDDY_LIBS)

# bulkhead and bulkheadd with a compiler that can be made to leave flows out.
check_PROGRAMS += tests/verify/faulty tests/verify/faultyd
forgetful = $(AM_LDFLAGS) -Wl,--wrap=backend_compile -Wl,--wrap=verify \
	-Wl,--wrap=proved_prove \
	-Wl,--wrap=proved_prove_soon
tests_verify_faulty_SOURCES = $(bulkhead_SOURCES) tests/verify/faulty.c
tests_verify_faulty_CPPFLAGS = $(bulkhead_CPPFLAGS)
tests_verify_faulty_CFLAGS = $(bulkhead_CFLAGS)
tests_verify_faulty_LDFLAGS = $(forgetful)
tests_verify_faulty_LDADD = $(bulkhead_LDADD)
tests_verify_faultyd_SOURCES = $(bulkheadd_SOURCES) tests/verify/faulty.c
tests_verify_faultyd_CPPFLAGS = $(bulkheadd_CPPFLAGS)
tests_verify_faultyd_LDFLAGS = $(forgetful)
tests_verify_faultyd_LDADD = $(bulkheadd_LDADD)

TESTS += tests/verify/changes tests/verify/jobs tests/verify/latent \
	tests/verify/meanings \
	tests/verify/mutants tests/verify/oracle tests/verify/origins \
	tests/verify/slices

EXTRA_DIST += tests/verify/two-layouts.json
