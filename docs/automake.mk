EXTRA_DIST += \
	docs/intents.md \
	docs/meters.md \
	docs/pipeline.md
