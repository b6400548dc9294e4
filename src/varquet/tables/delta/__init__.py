"""Delta tables: created, written, read at any version, kept small."""

from varquet.tables.delta.history import Version, history
from varquet.tables.delta.rewriting import Rewritten, delete, optimize
from varquet.tables.delta.table import DeltaTable
from varquet.tables.delta.vacuum import Vacuumed, vacuum

__all__ = ["DeltaTable", "Rewritten", "Vacuumed", "Version", "delete", "history", "optimize", "vacuum"]
