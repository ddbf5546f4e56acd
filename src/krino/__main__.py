"""`python -m krino` is the command `krino`."""

from krino.cli import main

main()
