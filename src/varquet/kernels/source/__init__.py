"""The kernels as they are written; see `dialect` for how to read them."""
