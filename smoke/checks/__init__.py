"""One file per check; each has one function `check(run) -> Result` and knows nothing of the others."""
