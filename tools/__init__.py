"""What keeps the house: install, build, run, check. Called by the Makefile as `python -m tools.NAME`."""
