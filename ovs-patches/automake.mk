OVS_INPUTS = \
	$(srcdir)/build-aux/ovs-build \
	$(srcdir)/ovs-patches/3.1/BASE \
	$(srcdir)/ovs-patches/3.1/series \
	$(wildcard $(srcdir)/ovs-patches/3.1/*.patch) \
	$(wildcard $(srcdir)/ovs-patches/lib/*.c) \
	$(wildcard $(srcdir)/ovs-patches/lib/*.h)

EXTRA_DIST += \
	ovs-patches/README.md \
	ovs-patches/series.sh \
	$(OVS_INPUTS)
