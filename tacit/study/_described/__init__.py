"""The named parts of a study, described: methods, their requirements and their guarantees."""
