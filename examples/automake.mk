EXTRA_DIST += examples/ai-cluster.json
