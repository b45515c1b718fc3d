"""How the keys of a study file are read: signatures as keys, places in the file, mistakes."""
