"""Reading the keys of a study file: signatures as keys, positions in the file, mistakes."""
