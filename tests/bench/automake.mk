# Run by hand: how fast something is decides no test.
EXTRA_PROGRAMS = tests/bench/compile
CLEANFILES += tests/bench/compile
tests_bench_compile_SOURCES = tests/bench/compile.c
tests_bench_compile_LDADD = $(BULKHEAD_LIBS)
bench-compile: tests/bench/compile
	tests/bench/compile $(srcdir)/tests/bench/make-intent.py
.PHONY: bench-compile

EXTRA_DIST += \
	tests/bench/README.md \
	tests/bench/dpdk_switch.py \
	tests/bench/gaps.py \
	tests/bench/make-intent.py \
	tests/bench/meters-dpdk \
	tests/bench/openflow13.py \
	tests/bench/report.py \
	tests/bench/sampling.py \
	tests/bench/workload.py
