"""The verifier: does this server give what the checkpoint says? `python -m smoke MODEL`, see `smoke.__main__`."""
