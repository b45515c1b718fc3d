"""Parts that studies of tacit can name."""
