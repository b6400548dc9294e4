"""Damaged inputs through every verb: `python fuzz/run.py`."""
