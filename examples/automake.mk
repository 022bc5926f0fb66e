EXTRA_DIST += $(wildcard $(srcdir)/examples/*.json) examples/shared-cluster
