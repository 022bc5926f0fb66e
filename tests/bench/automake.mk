# Run by hand: how fast something is decides no test.
bench_programs = \
	tests/bench/borrowing \
	tests/bench/borrowing-cost \
	tests/bench/bursts \
	tests/bench/changes \
	tests/bench/compile \
	tests/bench/frontend \
	tests/bench/meters
EXTRA_PROGRAMS = $(bench_programs)
CLEANFILES += $(bench_programs)
# tests/system/dpdk-bursts-test.sh needs it.
check_PROGRAMS += tests/bench/burst-sender
tests_bench_borrowing_SOURCES = \
	$(borrow_sources) \
	tests/bench/borrowing.c \
	tests/bench/meter-models.c \
	tests/bench/meter-models.h \
	tests/bench/shares-bc-pqp.c \
	tests/bench/shares-borrowing.c \
	tests/bench/shares-hcsfq.c \
	tests/bench/shares-known.c \
	tests/bench/shares-known.h \
	tests/bench/shares.h \
	tests/proof/cluster.c \
	tests/proof/cluster.h \
	$(reacting_sources)
tests_bench_borrowing_CPPFLAGS = $(tests_bench_meters_CPPFLAGS)
tests_bench_borrowing_LDADD = $(OVS_LIBS) -lm
tests_bench_borrowing_cost_SOURCES = \
	$(dp_meter_sources) \
	tests/bench/borrowing-cost.c \
	tests/bench/timing.c \
	tests/bench/timing.h
tests_bench_borrowing_cost_CPPFLAGS = $(tests_bench_meters_CPPFLAGS)
tests_bench_borrowing_cost_LDADD = $(OVS_LIBS)
tests_bench_burst_sender_SOURCES = tests/bench/burst-sender.c
tests_bench_burst_sender_CFLAGS = -std=gnu11 -D_GNU_SOURCE $(WARNING_CFLAGS) \
	$(patsubst -I%,-isystem %,$(DPDK_CFLAGS))
tests_bench_burst_sender_LDADD = $(DPDK_LIBS)
tests_bench_bursts_SOURCES = \
	$(bystander_sources) \
	tests/bench/burst-detectors.c \
	tests/bench/burst-detectors.h \
	tests/bench/burst-loop.c \
	tests/bench/burst-loop.h \
	tests/bench/bursts.c \
	tests/proof/bursts.c \
	tests/proof/bursts.h \
	tests/proof/queue.c \
	tests/proof/queue.h
tests_bench_bursts_CPPFLAGS = $(tests_bench_meters_CPPFLAGS)
tests_bench_bursts_LDADD = $(OVS_LIBS) -lm
tests_bench_compile_SOURCES = \
	tests/bench/compile.c \
	tests/bench/generate.c \
	tests/bench/generate.h
tests_bench_compile_LDADD = $(BULKHEAD_LIBS)
tests_bench_changes_SOURCES = \
	tests/bench/changes.c \
	tests/bench/generate.c \
	tests/bench/generate.h
tests_bench_changes_LDADD = $(BULKHEAD_LIBS)
tests_bench_frontend_SOURCES = \
	tests/bench/frontend.c \
	tests/bench/generate.c \
	tests/bench/generate.h
tests_bench_frontend_LDADD = $(BULKHEAD_LIBS)
tests_bench_meters_SOURCES = \
	ovs-patches/lib/gcra-private.h \
	ovs-patches/lib/gcra.c \
	ovs-patches/lib/gcra.h \
	tests/bench/meter-models.c \
	tests/bench/meter-models.h \
	tests/bench/meters.c \
	tests/bench/timing.c \
	tests/bench/timing.h \
	tests/proof/oracle.c \
	tests/proof/oracle.h \
	tests/proof/proof.c \
	tests/proof/proof.h
tests_bench_meters_CPPFLAGS = \
	$(AM_CPPFLAGS) -I$(srcdir)/ovs-patches/lib -I$(srcdir)/tests
tests_bench_meters_LDADD = -lpthread -lm
bench-borrowing: tests/bench/borrowing tests/bench/borrowing-cost
	tests/bench/borrowing
	tests/bench/borrowing-cost
.PHONY: bench-borrowing
bench-compile: tests/bench/compile
	tests/bench/compile $(srcdir)/tests/bench/make-intent.py
.PHONY: bench-compile
bench-bursts-dpdk: tests/bench/burst-sender
	for source in '' --telemetry; do \
	    $(srcdir)/tests/bench/bursts-dpdk --patched '$(OVS_PREFIX)' \
		$$source tests/bench/burst-sender || exit; \
	done
.PHONY: bench-bursts-dpdk
bench-frontend: tests/bench/frontend
	tests/bench/frontend $(srcdir)/tests/bench/make-intent.py
.PHONY: bench-frontend
bench-bursts: tests/bench/bursts
	tests/bench/bursts
.PHONY: bench-bursts
bench-meters: tests/bench/meters
	tests/bench/meters
.PHONY: bench-meters

bench-push: all
	@BULKHEAD='$(abs_top_builddir)/bulkhead' OVS_PREFIX='$(OVS_PREFIX)' \
	    srcdir='$(abs_srcdir)' $(srcdir)/tests/bench/push
	@BULKHEAD='$(abs_top_builddir)/bulkhead' OVS_PREFIX='$(OVS_PREFIX)' \
	    srcdir='$(abs_srcdir)' $(srcdir)/tests/bench/push --resident
	@BULKHEAD='$(abs_top_builddir)/bulkhead' OVS_PREFIX='$(OVS_PREFIX)' \
	    srcdir='$(abs_srcdir)' $(srcdir)/tests/bench/push --ovn
.PHONY: bench-push
bench-verify: all tests/bench/changes
	@BULKHEAD='$(abs_top_builddir)/bulkhead' $(srcdir)/tests/bench/verify
	@tests/bench/changes $(srcdir)/tests/bench/make-intent.py
.PHONY: bench-verify

bench-ovn: all
	@BULKHEAD='$(abs_top_builddir)/bulkhead' OVS_PREFIX='$(OVS_PREFIX)' \
	    srcdir='$(abs_srcdir)' $(srcdir)/tests/bench/ovn
.PHONY: bench-ovn

EXTRA_DIST += \
	tests/bench/README.md \
	tests/bench/bursts-dpdk \
	tests/bench/dpdk_bursts.py \
	tests/bench/dpdk_switch.py \
	tests/bench/gaps.py \
	tests/bench/make-intent.py \
	tests/bench/meters-dpdk \
	tests/bench/openflow13.py \
	tests/bench/ovn \
	tests/bench/ovn_cost.py \
	tests/bench/push \
	tests/bench/push.py \
	tests/bench/push_ovn.py \
	tests/bench/push_resident.py \
	tests/bench/report.py \
	tests/bench/sampling.py \
	tests/bench/shm_reader.py \
	tests/bench/verify \
	tests/bench/workload.py
