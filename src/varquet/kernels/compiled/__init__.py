"""The kernels compiled with pointers and explicit guards: what varquet runs. The build puts them here."""
