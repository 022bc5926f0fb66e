EXTRA_DIST += $(wildcard $(srcdir)/examples/*.json)
