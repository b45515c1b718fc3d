"""What all members agree on before a run: the manifest, declarations, and each one's data."""
