"""The sections of a study file."""
