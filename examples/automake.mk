EXTRA_DIST += examples/ai-cluster.json examples/rack.json
