"""What is kept in files: the cache, bundles, data, reproducers."""
