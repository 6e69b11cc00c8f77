"""Stand-in checkpoints: tiny models in the published file layout that really do their job."""
