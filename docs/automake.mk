dist_man8_MANS = docs/bulkhead.8 docs/bulkheadd.8

# A unit for a bridge; configure --with-systemdsystemunitdir says where.
systemdsystemunit_DATA = docs/systemd/bulkheadd@.service
CLEANFILES += $(systemdsystemunit_DATA)
docs/systemd/bulkheadd@.service: docs/systemd/bulkheadd@.service.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -e 's,[@]sbindir@,$(sbindir),' -e 's,[@]rundir@,$(SYSTEM_RUNDIR),' \
	    -e 's,[@]statedir@,$(localstatedir)/lib/bulkhead,' \
	    '$(srcdir)/docs/systemd/bulkheadd@.service.in' >'$@.tmp' && \
	    mv '$@.tmp' '$@'

EXTRA_DIST += \
	docs/systemd/bulkheadd@.service.in \
	docs/dpdk.md \
	docs/import.md \
	docs/intents.md \
	docs/json.md \
	docs/kernel.md \
	docs/meters.md \
	docs/offload.md \
	docs/ovn.md \
	docs/pipeline.md \
	docs/telemetry.md \
	docs/threat-model.md \
	docs/verify.md
