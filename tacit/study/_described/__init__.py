"""What a study can name, described: methods, what they take and what they promise."""
