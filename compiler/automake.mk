# All of the product but its main(), for the program and for the tests.
noinst_LIBRARIES += libbulkhead.a
libbulkhead_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libbulkhead_a_SOURCES = \
	compiler/backend/backend.c \
	compiler/backend/backend.h \
	compiler/backend/openflow/capacity.c \
	compiler/backend/openflow/conjunction.c \
	compiler/backend/openflow/conjunction.h \
	compiler/backend/openflow/emit-conntrack.c \
	compiler/backend/openflow/emit-dhcp.c \
	compiler/backend/openflow/emit-limits.c \
	compiler/backend/openflow/emit-multicast.c \
	compiler/backend/openflow/emit-policy.c \
	compiler/backend/openflow/emit-ports.c \
	compiler/backend/openflow/emit-qos.c \
	compiler/backend/openflow/emit-routes.c \
	compiler/backend/openflow/emit-services.c \
	compiler/backend/openflow/emit-sides.c \
	compiler/backend/openflow/emit-tunnels.c \
	compiler/backend/openflow/emit.h \
	compiler/backend/openflow/openflow.c \
	compiler/backend/openflow/openflow.h \
	compiler/backend/openflow/pipeline.h \
	compiler/backend/text/text.c \
	compiler/backend/text/text.h \
	compiler/base/arena.c \
	compiler/base/arena.h \
	compiler/base/diag.c \
	compiler/base/diag.h \
	compiler/base/nearest.c \
	compiler/base/nearest.h \
	compiler/base/source.c \
	compiler/base/source.h \
	compiler/base/vec.c \
	compiler/base/vec.h \
	compiler/intent/decode.c \
	compiler/intent/decode.h \
	compiler/intent/intent.c \
	compiler/intent/intent.h \
	compiler/intent/print.c \
	compiler/intent/units.c \
	compiler/intent/units.h \
	compiler/intent/value.c \
	compiler/intent/value.h \
	compiler/ir/build.c \
	compiler/ir/concern.c \
	compiler/ir/ir.h \
	compiler/ir/ops.c \
	compiler/ir/ops.def \
	compiler/ir/ops.h \
	compiler/ir/parse-value.c \
	compiler/ir/parse.c \
	compiler/ir/parse.h \
	compiler/ir/print.c \
	compiler/ir/side.c \
	compiler/ir/validate-value.c \
	compiler/ir/validate.c \
	compiler/ir/validate.h \
	compiler/pass/group.c \
	compiler/pass/pass.h \
	compiler/plan/count.c \
	compiler/plan/diff.c \
	compiler/plan/plan.c \
	compiler/plan/plan.h \
	compiler/plan/tunnel.c \
	compiler/plan/write.c \
	compiler/push/changes.c \
	compiler/push/drops.c \
	compiler/push/drops.h \
	compiler/push/flows.c \
	compiler/push/flows.h \
	compiler/push/ovsdb.c \
	compiler/push/ovsdb.h \
	compiler/push/push.c \
	compiler/push/push.h \
	compiler/push/run.h \
	compiler/push/session.c \
	compiler/push/session.h \
	compiler/push/tunnel.c \
	compiler/sema/check-addressing.c \
	compiler/sema/check-copies.c \
	compiler/sema/check-overlay.c \
	compiler/sema/check-peering.c \
	compiler/sema/check.c \
	compiler/sema/check.h \
	compiler/sema/ident.c \
	compiler/sema/ident.h \
	compiler/sema/interface.c \
	compiler/sema/interface.h \
	compiler/sema/meaning-dhcp.c \
	compiler/sema/meaning-dhcp.h \
	compiler/sema/meaning-endpoint.c \
	compiler/sema/meaning-endpoint.h \
	compiler/sema/meaning-multicast.c \
	compiler/sema/meaning-multicast.h \
	compiler/sema/meaning-packet.c \
	compiler/sema/meaning-packet.h \
	compiler/sema/meaning-reach.c \
	compiler/sema/meaning-reach.h \
	compiler/sema/meaning.c \
	compiler/sema/meaning.h \
	compiler/sema/packet.c \
	compiler/sema/packet.h \
	compiler/sema/policy.c \
	compiler/sema/policy.h \
	compiler/sema/reason.c \
	compiler/sema/reason.h \
	compiler/sema/reasons.def \
	compiler/sema/rule-kind.c \
	compiler/sema/rule-kind.h \
	compiler/sema/rule-kinds.def \
	compiler/sema/services.def

BULKHEAD_LIBS = libbulkhead.a $(JANSSON_LIBS) $(OVS_LIBS)

bin_PROGRAMS += bulkhead
bulkhead_SOURCES = \
	compiler/cli/cli.h \
	compiler/cli/commands.c \
	compiler/cli/compile.c \
	compiler/cli/drops.c \
	compiler/cli/explain.c \
	compiler/cli/main.c \
	compiler/cli/show.c \
	compiler/cli/show.h \
	compiler/cli/trace.c
bulkhead_LDADD = $(BULKHEAD_LIBS)
