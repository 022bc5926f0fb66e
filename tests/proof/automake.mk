# Proofs of the policing arithmetic: gcra.c, phantom.c and borrow.c, which the
# patches add to Open vSwitch, compiled here by themselves.  None of them needs
# a switch, and only "delay", "meters" and "tenants", which are about what stands
# on it, link Open vSwitch's library.
proof_programs = \
	tests/proof/accuracy \
	tests/proof/borrowing \
	tests/proof/borrowing-threads \
	tests/proof/delay \
	tests/proof/detection \
	tests/proof/interleave \
	tests/proof/meters \
	tests/proof/phantom \
	tests/proof/phantom-threads \
	tests/proof/tenants \
	tests/proof/threads
tsan_programs = \
	tests/proof/borrowing-threads-tsan \
	tests/proof/meters-tsan \
	tests/proof/phantom-threads-tsan \
	tests/proof/tenants-tsan \
	tests/proof/threads-tsan
check_PROGRAMS += $(proof_programs) $(tsan_programs)

gcra_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/ovs-patches/lib
gcra_sources = \
	ovs-patches/lib/gcra-private.h \
	ovs-patches/lib/gcra.c \
	ovs-patches/lib/gcra.h \
	tests/proof/oracle.c \
	tests/proof/oracle.h \
	tests/proof/proof.c \
	tests/proof/proof.h

tests_proof_accuracy_SOURCES = \
	$(gcra_sources) \
	tests/proof/accuracy.c \
	tests/proof/traffic.c \
	tests/proof/traffic.h
tests_proof_accuracy_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_accuracy_LDADD = -lm

# Here ovs-atomic.h is the model's.
tests_proof_interleave_SOURCES = \
	$(gcra_sources) \
	tests/proof/interleave.c \
	tests/proof/model/model.c \
	tests/proof/model/model.h \
	tests/proof/model/ovs-atomic.h \
	tests/proof/serial.c \
	tests/proof/serial.h
tests_proof_interleave_CPPFLAGS = \
	-I$(srcdir)/tests/proof/model $(gcra_CPPFLAGS)

tests_proof_threads_SOURCES = \
	$(gcra_sources) \
	tests/proof/threads.c \
	tests/proof/witness.c \
	tests/proof/witness.h
tests_proof_threads_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_threads_LDADD = -lpthread

phantom_sources = \
	ovs-patches/lib/dp-counter.h \
	ovs-patches/lib/phantom.c \
	ovs-patches/lib/phantom.h \
	tests/proof/queue.c \
	tests/proof/queue.h

tests_proof_phantom_SOURCES = \
	$(gcra_sources) \
	$(phantom_sources) \
	tests/proof/phantom-edges.c \
	tests/proof/phantom-edges.h \
	tests/proof/phantom.c \
	tests/proof/traffic.c \
	tests/proof/traffic.h
tests_proof_phantom_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_phantom_LDADD = -lm

tests_proof_detection_SOURCES = \
	$(gcra_sources) \
	$(phantom_sources) \
	tests/proof/bursts.c \
	tests/proof/bursts.h \
	tests/proof/detection.c
tests_proof_detection_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_detection_LDADD = -lm

tests_proof_phantom_threads_SOURCES = \
	$(gcra_sources) \
	$(phantom_sources) \
	tests/proof/passed.c \
	tests/proof/passed.h \
	tests/proof/phantom-threads.c
tests_proof_phantom_threads_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_phantom_threads_LDADD = -lpthread

borrow_sources = \
	$(gcra_sources) \
	ovs-patches/lib/borrow-private.h \
	ovs-patches/lib/borrow-round.c \
	ovs-patches/lib/borrow.c \
	ovs-patches/lib/borrow.h

reacting_sources = \
	tests/proof/dctcp-sender.c \
	tests/proof/dctcp-sender.h \
	tests/proof/dctcp.c \
	tests/proof/dctcp.h \
	tests/proof/events.c \
	tests/proof/events.h \
	tests/proof/reacting.c \
	tests/proof/reacting.h

tests_proof_borrowing_SOURCES = \
	$(borrow_sources) \
	$(reacting_sources) \
	tests/proof/borrowing.c \
	tests/proof/cluster.c \
	tests/proof/cluster.h
tests_proof_borrowing_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_borrowing_LDADD = $(OVS_LIBS) -lm

tests_proof_borrowing_threads_SOURCES = \
	$(borrow_sources) \
	tests/proof/borrowing-threads.c \
	tests/proof/passed.c \
	tests/proof/passed.h \
	tests/proof/queue.h
tests_proof_borrowing_threads_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_borrowing_threads_LDADD = -lpthread

dp_meter_sources = \
	ovs-patches/lib/borrow-private.h \
	ovs-patches/lib/borrow-round.c \
	ovs-patches/lib/borrow.c \
	ovs-patches/lib/borrow.h \
	ovs-patches/lib/dp-counter.h \
	ovs-patches/lib/dp-meter-conf.c \
	ovs-patches/lib/dp-meter-conf.h \
	ovs-patches/lib/dp-meter-drop.c \
	ovs-patches/lib/dp-meter-pool.c \
	ovs-patches/lib/dp-meter-private.h \
	ovs-patches/lib/dp-meter-reason.h \
	ovs-patches/lib/dp-meter-run.c \
	ovs-patches/lib/dp-meter.c \
	ovs-patches/lib/dp-meter.h \
	ovs-patches/lib/gcra-private.h \
	ovs-patches/lib/gcra.c \
	ovs-patches/lib/gcra.h \
	ovs-patches/lib/ip-remark.c \
	ovs-patches/lib/ip-remark.h \
	ovs-patches/lib/phantom.c \
	ovs-patches/lib/phantom.h \
	tests/proof/proof.c \
	tests/proof/proof.h

bystander_sources = \
	$(dp_meter_sources) \
	tests/bench/meter-models.c \
	tests/bench/meter-models.h \
	tests/proof/bystander-scenarios.c \
	tests/proof/bystander-scenarios.h \
	tests/proof/bystander.c \
	tests/proof/bystander.h \
	tests/proof/dctcp-sender.c \
	tests/proof/dctcp-sender.h \
	tests/proof/dctcp.c \
	tests/proof/dctcp.h \
	tests/proof/events.c \
	tests/proof/events.h \
	tests/proof/oracle.c \
	tests/proof/oracle.h

tests_proof_delay_SOURCES = \
	$(bystander_sources) \
	tests/proof/delay.c
tests_proof_delay_CPPFLAGS = $(gcra_CPPFLAGS) -I$(srcdir)/tests
tests_proof_delay_LDADD = $(OVS_LIBS) -lm

tests_proof_meters_SOURCES = \
	$(dp_meter_sources) \
	tests/proof/meters.c
tests_proof_meters_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_meters_LDADD = $(OVS_LIBS)

pauses_CFLAGS = -include $(srcdir)/tests/proof/pauses.h
tests_proof_tenants_SOURCES = \
	$(dp_meter_sources) \
	ovs-patches/lib/odp-ahead.c \
	ovs-patches/lib/odp-ahead.h \
	ovs-patches/lib/tenant-queue-burst.c \
	ovs-patches/lib/tenant-queue-drops.c \
	ovs-patches/lib/tenant-queue-file.c \
	ovs-patches/lib/tenant-queue-log.c \
	ovs-patches/lib/tenant-queue-private.h \
	ovs-patches/lib/tenant-queue-shm.h \
	ovs-patches/lib/tenant-queue-show.c \
	ovs-patches/lib/tenant-queue-writer.c \
	ovs-patches/lib/tenant-queue.c \
	ovs-patches/lib/tenant-queue.h \
	tests/proof/line.c \
	tests/proof/line.h \
	tests/proof/pauses.h \
	tests/proof/reader.c \
	tests/proof/reader.h \
	tests/proof/tenant-edges.c \
	tests/proof/tenant-edges.h \
	tests/proof/tenant-meters.c \
	tests/proof/tenant-meters.h \
	tests/proof/tenant-threads.c \
	tests/proof/tenant-threads.h \
	tests/proof/tenants.c
tests_proof_tenants_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_tenants_CFLAGS = $(AM_CFLAGS) $(pauses_CFLAGS)
tests_proof_tenants_LDADD = $(OVS_LIBS)

# The same for ThreadSanitizer, which goes with no other sanitizer.  With GCC
# and with Clang, Open vSwitch's atomic operations are the compiler's own, so
# it sees them all; GCC warns that it does not look at fences, but nothing here
# is other than atomic, so no fence is needed for it to be free of data races.
tsan_CFLAGS = \
	-std=gnu11 $(WARNING_CFLAGS) -Wno-unknown-warning-option -Wno-tsan \
	-fsanitize=thread $(OVS_CFLAGS)
tests_proof_threads_tsan_SOURCES = $(tests_proof_threads_SOURCES)
tests_proof_threads_tsan_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_threads_tsan_CFLAGS = $(tsan_CFLAGS)
tests_proof_threads_tsan_LDFLAGS = -fsanitize=thread
tests_proof_threads_tsan_LDADD = -lpthread
tests_proof_meters_tsan_SOURCES = \
	$(tests_proof_meters_SOURCES) \
	tests/proof/tsan-cmap.c
tests_proof_meters_tsan_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_meters_tsan_CFLAGS = $(tsan_CFLAGS)
tests_proof_meters_tsan_LDFLAGS = \
	-fsanitize=thread \
	-Wl,--wrap=cmap_find,--wrap=cmap_insert,--wrap=cmap_replace
tests_proof_meters_tsan_LDADD = $(OVS_LIBS)
tests_proof_tenants_tsan_SOURCES = $(tests_proof_tenants_SOURCES)
tests_proof_tenants_tsan_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_tenants_tsan_CFLAGS = $(tsan_CFLAGS) $(pauses_CFLAGS)
tests_proof_tenants_tsan_LDFLAGS = -fsanitize=thread
tests_proof_tenants_tsan_LDADD = $(OVS_LIBS)
tests_proof_borrowing_threads_tsan_SOURCES = \
	$(tests_proof_borrowing_threads_SOURCES)
tests_proof_borrowing_threads_tsan_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_borrowing_threads_tsan_CFLAGS = $(tsan_CFLAGS)
tests_proof_borrowing_threads_tsan_LDFLAGS = -fsanitize=thread
tests_proof_borrowing_threads_tsan_LDADD = -lpthread
tests_proof_phantom_threads_tsan_SOURCES = \
	$(tests_proof_phantom_threads_SOURCES)
tests_proof_phantom_threads_tsan_CPPFLAGS = $(gcra_CPPFLAGS)
tests_proof_phantom_threads_tsan_CFLAGS = $(tsan_CFLAGS)
tests_proof_phantom_threads_tsan_LDFLAGS = -fsanitize=thread
tests_proof_phantom_threads_tsan_LDADD = -lpthread

TESTS += $(proof_programs) tests/proof/tsan-test
EXTRA_DIST += tests/proof/tsan-test

# For bugs/run: $(PROGRAM) as $(OUTPUT), with $(MUTANT).c in place of the file
# $(MUTATED).c of the patches.
proof-mutant:
	$(COMPILE) $($(PROGRAM)_CFLAGS) -w -I$(srcdir)/ovs-patches/lib -c \
	    -o '$(MUTANT).o' '$(MUTANT).c'
	$(CCLD) $(AM_CFLAGS) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o '$(OUTPUT)' \
	    $(filter-out ovs-patches/lib/%-$(MUTATED).$(OBJEXT), \
	        $($(PROGRAM)_OBJECTS)) \
	    '$(MUTANT).o' $($(PROGRAM)_LDADD) $(LIBS)
.PHONY: proof-mutant
EXTRA_DIST += \
	tests/proof/bugs/run \
	$(wildcard $(srcdir)/tests/proof/bugs/*.patch)
