"""The process that steps one environment beside the server: `python -m coplay.host`.

It speaks the protocol of `docs/host-protocol.md` on its standard input and output. It needs nothing but Python:
the program carries these files, so that a researcher's interpreter needs only the packages of the environment.
"""
