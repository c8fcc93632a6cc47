"""`python -m toolwire`: the program `toolwire`, for environments without its script."""

from toolwire.cli import main

main()
