dist_man8_MANS = docs/bulkhead.8

EXTRA_DIST += \
	docs/intents.md \
	docs/json.md \
	docs/meters.md \
	docs/ovn.md \
	docs/pipeline.md \
	docs/threat-model.md
