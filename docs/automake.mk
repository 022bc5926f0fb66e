EXTRA_DIST += \
	docs/intents.md \
	docs/pipeline.md
