# Run by hand: how fast something is decides no test.
EXTRA_DIST += \
	tests/bench/README.md \
	tests/bench/dpdk_switch.py \
	tests/bench/gaps.py \
	tests/bench/meters-dpdk \
	tests/bench/openflow13.py \
	tests/bench/report.py \
	tests/bench/sampling.py \
	tests/bench/workload.py
