# The verifier: random intents, whose tables it must prove, and bugs planted in
# them, which it must find.
check_PROGRAMS += tests/verify/mutants
tests_verify_mutants_SOURCES = \
	tests/verify/mutants.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h
tests_verify_mutants_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_mutants_LDADD = $(world_libs)

# Errors that another table hides.
check_PROGRAMS += tests/verify/latent
tests_verify_latent_SOURCES = \
	tests/verify/latent.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h
tests_verify_latent_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_latent_LDADD = $(world_libs)

# Which packets can meet a flow.
check_PROGRAMS += tests/verify/origins
tests_verify_origins_SOURCES = \
	tests/verify/origins.c \
	tests/verify/mutate.c \
	tests/verify/mutate.h \
	tests/verify/proving.c \
	tests/verify/proving.h
tests_verify_origins_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_origins_LDADD = $(world_libs)

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
	tests/verify/slices.c
tests_verify_slices_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_slices_LDADD = $(world_libs)

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
	tests/verify/meanings.c
tests_verify_meanings_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/tests
tests_verify_meanings_LDADD = $(world_libs)

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
	-Wl,--wrap=proved_prove_soon \
	-Wl,--wrap=proved_prepare_left
tests_verify_faulty_SOURCES = tests/verify/faulty.c
tests_verify_faulty_LDFLAGS = $(forgetful)
tests_verify_faulty_LDADD = $(bulkhead_OBJECTS) $(bulkhead_LDADD)
tests_verify_faultyd_SOURCES = tests/verify/faulty.c
tests_verify_faultyd_LDFLAGS = $(forgetful)
tests_verify_faultyd_LDADD = $(bulkheadd_OBJECTS) $(bulkheadd_LDADD)

TESTS += tests/verify/changes tests/verify/jobs tests/verify/latent \
	tests/verify/meanings \
	tests/verify/mutants tests/verify/oracle tests/verify/origins \
	tests/verify/slices

EXTRA_DIST += tests/verify/two-layouts.json
