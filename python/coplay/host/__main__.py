"""Starts the host; see `coplay.host.serve`."""

from .serve import main

if __name__ == "__main__":
    main()
