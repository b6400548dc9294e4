"""The log of Delta tables: what is in a table at a version, and how a version is added."""
