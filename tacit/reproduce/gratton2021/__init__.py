"""Gratton et al. (2021), D-ZOA, and the five-agent setting of its earlier version."""
