# Unit tests: one program, a suite a module.  The meters are those that the
# patches add to Open vSwitch, compiled here by themselves, as is what is only
# bulkheadd's.
check_PROGRAMS += tests/unit/unit-tests
tests_unit_unit_tests_SOURCES = \
	compiler/agent/admitted.c \
	compiler/agent/admitted.h \
	compiler/agent/worker.c \
	compiler/agent/worker.h \
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
	ovs-patches/lib/odp-ahead.c \
	ovs-patches/lib/odp-ahead.h \
	ovs-patches/lib/phantom.c \
	ovs-patches/lib/phantom.h \
	tests/proof/oracle.c \
	tests/proof/oracle.h \
	tests/proof/queue.c \
	tests/proof/queue.h \
	tests/unit/lot.c \
	tests/unit/shuffle.c \
	tests/unit/test-admitted.c \
	tests/unit/test-backend.c \
	tests/unit/test-base.c \
	tests/unit/test-borrow.c \
	tests/unit/test-child.c \
	tests/unit/test-conflict.c \
	tests/unit/test-conjunction.c \
	tests/unit/test-diag.c \
	tests/unit/test-dp-meter-pool.c \
	tests/unit/test-dp-meter-phantom.c \
	tests/unit/test-dp-meter-rows.c \
	tests/unit/test-dp-meter.c \
	tests/unit/test-externals.c \
	tests/unit/test-files.c \
	tests/unit/test-flows.c \
	tests/unit/test-gcra-both.c \
	tests/unit/test-gcra-time.c \
	tests/unit/test-gcra.c \
	tests/unit/test-heap.c \
	tests/unit/test-held.c \
	tests/unit/test-intent.c \
	tests/unit/test-ir.c \
	tests/unit/test-lost.c \
	tests/unit/test-meaning.c \
	tests/unit/test-meant.c \
	tests/unit/test-narrower.c \
	tests/unit/test-odp-ahead.c \
	tests/unit/test-ofp-microburst.c \
	tests/unit/test-openflow.c \
	tests/unit/test-kernel.c \
	tests/unit/test-nic.c \
	tests/unit/test-dpdk.c \
	tests/unit/test-offload.c \
	tests/unit/test-ovn.c \
	tests/unit/test-pass.c \
	tests/unit/test-plan.c \
	tests/unit/test-redundant.c \
	tests/unit/test-ports.c \
	tests/unit/test-record.c \
	tests/unit/test-recording.c \
	tests/unit/test-round-trip.c \
	tests/unit/test-seam.c \
	tests/unit/test-symmetry.c \
	tests/unit/test-symmetry-wrong.c \
	tests/unit/test-rte.c \
	tests/unit/test-resident.c \
	tests/unit/test-sema.c \
	tests/unit/test-source.c \
	tests/unit/test-telemetry-meters.c \
	tests/unit/test-telemetry-race.c \
	tests/unit/test-tc.c \
	tests/unit/test-telemetry.c \
	tests/unit/test-tunnels.c \
	tests/unit/test-units.c \
	tests/unit/test-value.c \
	tests/unit/test-verify-parts.c \
	tests/unit/test-verify.c \
	tests/unit/test-worker.c \
	tests/unit/unit-gcra.c \
	tests/unit/unit-gcra.h \
	tests/unit/unit.c \
	tests/unit/alike.c \
	tests/unit/alike.h \
	tests/unit/proving.c \
	tests/unit/proving.h \
	tests/unit/unit.h
tests_unit_unit_tests_CPPFLAGS = \
	$(AM_CPPFLAGS) -I$(srcdir)/ovs-patches/lib -I$(srcdir)/tests
tests_unit_unit_tests_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_unit_unit_tests_LDADD = $(BULKHEAD_LIBS) $(CHECK_LIBS)

# What an intent means for many packets, for tests/import/run.
check_PROGRAMS += tests/import/judge
tests_import_judge_SOURCES = tests/import/judge.c
tests_import_judge_LDADD = $(BULKHEAD_LIBS)

# Those that need no switch first.
test_scripts = \
	tests/golden/run \
	tests/compile-test \
	tests/fmt-test \
	tests/import/run \
	tests/import/ovn \
	tests/man-test \
	tests/schema-test.py \
	tests/hostile-test.py \
	tests/house-test \
	tests/system/agent-journal-test.sh \
	tests/system/agent-prepare-test.sh \
	tests/system/agent-proof-test.sh \
	tests/system/agent-away-test.sh \
	tests/system/agent-refused-test.sh \
	tests/system/agent-start-test.sh \
	tests/system/agent-test.sh \
	tests/system/attach-back-test.sh \
	tests/system/attach-test.sh \
	tests/system/apply-kernel-test.sh \
	tests/system/apply-test.sh \
	tests/system/faults-test.sh \
	tests/system/fit-test.sh \
	tests/system/fragments-test.sh \
	tests/system/confirm-test.sh \
	tests/system/plan-test.sh \
	tests/system/rollback-test.sh \
	tests/system/status-test.sh \
	tests/system/tree-test.sh \
	tests/system/verify-test.sh \
	tests/system/tunnels-test.sh \
	tests/system/borrow-test.sh \
	tests/system/bursts-test.sh \
	tests/system/tc-test.sh \
	tests/system/rte-test.sh \
	tests/system/telemetry-test.sh \
	tests/system/threads-test.sh \
	tests/system/metrics-test.sh \
	tests/system/connections-test.sh \
	tests/system/upcalls-test.sh \
	tests/system/protocols-test.sh \
	tests/system/zones-test.sh \
	tests/system/externals-test.sh \
	tests/system/drops-test.sh \
	tests/system/ovn-apply-test.sh \
	tests/system/ovn-import-test.sh \
	tests/system/ovn-probes-test.sh \
	tests/system/ovn-test.sh \
	tests/system/nic-test.sh \
	tests/system/dpdk-test.sh \
	tests/system/dpdk-bursts-test.sh \
	tests/system/qos-test.sh \
	tests/system/port-drops-test.sh \
	tests/system/offload-test.sh \
	tests/system/series-test.sh \
	tests/system/sandbox-test.sh \
	tests/system/isolation-test.sh \
	tests/system/faults-agent-test.sh \
	tests/system/ovs-suite-test.sh

TESTS += tests/unit/unit-tests $(test_scripts)

# Only what is built here, and the Open vSwitch of this build, is tested.
AM_TESTS_ENVIRONMENT = \
	BULKHEAD='$(abs_top_builddir)/bulkhead'; export BULKHEAD; \
	BUILDDIR='$(abs_top_builddir)'; export BUILDDIR; \
	OVS_PREFIX='$(OVS_PREFIX)'; export OVS_PREFIX; \
	NM='$(NM)'; export NM; \
	srcdir='$(abs_srcdir)'; export srcdir;

# Whole folders: their files would not fit into one argument of a command.
golden_folders = $(filter-out %/run,$(wildcard $(srcdir)/tests/golden/*))

dist-hook:
	find $(distdir)/tests/golden -name '*.new' -exec rm -rf {} +

EXTRA_DIST += \
	tests/check-long \
	$(test_scripts) \
	$(golden_folders) \
	$(wildcard $(srcdir)/tests/import/*.json $(srcdir)/tests/import/*.py) \
	$(wildcard $(srcdir)/tests/import/cases/*) \
	$(filter-out %.pyc %/__pycache__,$(wildcard $(srcdir)/tests/system/*))
