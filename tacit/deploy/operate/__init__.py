"""What operators use: rehearsal, diagnosis, status and results."""
