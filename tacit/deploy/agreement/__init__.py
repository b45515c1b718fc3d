"""What all members agree on before a run: the manifest, what each declares, and its own data."""
