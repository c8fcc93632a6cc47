"""`python -m toolwire.cli`: the same program where no script is installed."""

from toolwire.cli import main

main()
