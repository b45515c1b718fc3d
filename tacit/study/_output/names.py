"""Names of files in a results directory that several modules share."""

REPORT = "report.html"

PUBLIC_REPORT = "report_public.html"

SIMULATION_ONLY = "simulation_only"
"""Folder, and key of `result.json`, of results computed from private data without noise."""
