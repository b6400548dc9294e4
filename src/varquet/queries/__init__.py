"""Queries on paths: predicates and projections, which files and row groups they need, and how their columns are read."""
