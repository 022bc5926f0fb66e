# Fuzz targets.  "make check" runs each on the inputs in its folder of corpus/.
#
# To look for more, configure an Open vSwitch (sources in $S, built in $B) so
# that libFuzzer sees which of its code an input reaches, and link a target
# with libFuzzer instead of run-files.c:
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
#
# fuzz-ir is also linked with the sources of compiler/ but cli/ and push/, and
# with libjansson; -I_build -Icompiler.
fuzz_targets = \
	tests/fuzz/fuzz-ir \
	tests/fuzz/fuzz-ofp-meter

check_PROGRAMS += $(fuzz_targets)
tests_fuzz_fuzz_ofp_meter_SOURCES = \
	tests/fuzz/fuzz-ofp-meter.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_ofp_meter_LDADD = $(OVS_LIBS)
tests_fuzz_fuzz_ir_SOURCES = \
	tests/fuzz/fuzz-ir.c \
	tests/fuzz/run-files.c
tests_fuzz_fuzz_ir_LDADD = $(BULKHEAD_LIBS)

fuzz_scripts = tests/fuzz/corpus-test
TESTS += $(fuzz_scripts)

EXTRA_DIST += \
	$(fuzz_scripts) \
	$(wildcard $(srcdir)/tests/fuzz/*.dict) \
	$(wildcard $(srcdir)/tests/fuzz/corpus/*/*)
