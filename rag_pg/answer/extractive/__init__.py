"""The answer without a model: which passage answers, and what of it is shown."""
