# A Debian kernel in software emulation: as long as packages can be had, and no
# part of "make check", for it takes minutes.
check-vm: all
	BULKHEAD='$(abs_top_builddir)/bulkhead' OVS_PREFIX='$(OVS_PREFIX)' \
	    srcdir='$(abs_srcdir)' $(srcdir)/tests/vm/run
.PHONY: check-vm

EXTRA_DIST += \
	tests/vm/boot \
	tests/vm/filters.py \
	tests/vm/guest.py \
	tests/vm/init \
	tests/vm/inside \
	tests/vm/kernel \
	tests/vm/megaflows.py \
	tests/vm/megaflows.sh \
	tests/vm/predictions.py \
	tests/vm/run \
	tests/vm/slow.json
