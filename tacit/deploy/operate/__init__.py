"""Tools for operators: rehearsal, diagnosis, status and results."""
