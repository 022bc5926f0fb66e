# Fuzz targets.  "make check" runs each on the inputs in its folder of corpus/;
# tests/fuzz/run looks for more.
#
# That does not show libFuzzer which code of Open vSwitch an input reaches, on
# which fuzz-ofp-meter depends.  For it, configure an Open vSwitch (sources in
# $S, built in $B) with the same flags, and link with that:
#
#     flags='-O1 -g -fno-sanitize-recover=all'
#     $S/configure CC=clang \
#         CFLAGS="$flags -fsanitize=fuzzer-no-link,address,undefined"
#     ...
#     clang $flags -fsanitize=fuzzer,address,undefined \
#         -DHAVE_CONFIG_H -include $B/config.h \
#         -I$B/include -I$B/lib -I$S/include -I$S/lib \
#         tests/fuzz/fuzz-ofp-meter.c -o fuzz-ofp-meter \
#         -Wl,--start-group $B/lib/.libs/libopenvswitch*.a -Wl,--end-group \
#         $(sed -n 's/^Libs.private: //p' $B/lib/libopenvswitch.pc) -lm
#     ./fuzz-ofp-meter -dict=tests/fuzz/ofp-meter.dict -max_len=4096 \
#         NEW-INPUTS tests/fuzz/corpus/ofp-meter
fuzz_targets = \
	tests/fuzz/fuzz-import \
	tests/fuzz/fuzz-intent \
	tests/fuzz/fuzz-ir \
	tests/fuzz/fuzz-ofp-meter \
	tests/fuzz/fuzz-telemetry

check_PROGRAMS += $(fuzz_targets)
tests_fuzz_fuzz_ofp_meter_SOURCES = \
	tests/fuzz/fuzz-ofp-meter.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_ofp_meter_LDADD = $(OVS_LIBS)
tests_fuzz_fuzz_intent_SOURCES = \
	tests/fuzz/fuzz-intent.c \
	tests/fuzz/fuzz-intent.h \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_intent_LDADD = $(BULKHEAD_LIBS)
tests_fuzz_fuzz_import_SOURCES = \
	tests/fuzz/fuzz-import.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_import_LDADD = $(BULKHEAD_LIBS)
tests_fuzz_fuzz_ir_SOURCES = \
	tests/fuzz/fuzz-ir.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_ir_LDADD = $(BULKHEAD_LIBS)

tests_fuzz_fuzz_telemetry_SOURCES = \
	tests/fuzz/fuzz-telemetry.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_telemetry_CPPFLAGS = $(telemetry_CPPFLAGS)
tests_fuzz_fuzz_telemetry_LDADD = $(BULKHEAD_LIBS)

# In a build that is configured for it; see tests/fuzz/run.
tests/fuzz/libfuzzer-%: tests/fuzz/fuzz-%.c libbulkhead.a
	$(AM_V_CCLD)$(LINK) $(DEFS) $(DEFAULT_INCLUDES) $(telemetry_CPPFLAGS) \
	    -fsanitize=fuzzer $(filter %.c,$^) $(BULKHEAD_LIBS)
tests/fuzz/libfuzzer-intent: tests/fuzz/mutate-json.c
tests/fuzz/libfuzzer-import: tests/fuzz/mutate-json.c

fuzz_scripts = tests/fuzz/corpus-test
TESTS += $(fuzz_scripts)

EXTRA_DIST += \
	$(fuzz_scripts) \
	tests/fuzz/mutate-json.c \
	tests/fuzz/pack-folder \
	tests/fuzz/run \
	$(wildcard $(srcdir)/tests/fuzz/*.dict) \
	$(wildcard $(srcdir)/tests/fuzz/corpus/*/*)
