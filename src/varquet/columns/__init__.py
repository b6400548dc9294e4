"""Verbs on whole columns: Arrow in, Arrow out, over the kernels."""
