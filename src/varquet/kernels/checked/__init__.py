"""The kernels compiled with every access checked, for fuzzing. The build puts them here when asked."""
