"""A member of a run: its process, its turns, its peers and how it ends."""
