"""Physical forms of a shredded Variant column."""
