"""The command `varquet`: one file per command; `main` builds the application out of them.

Results go to stdout, progress and messages to stderr; `--json` makes results and errors machine-readable; the exit codes are
those of `varquet.cli.main.ExitCode`. Nothing is imported here: a command loads what it needs when it runs.
"""
