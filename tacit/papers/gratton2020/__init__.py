"""Gratton et al. (2020): the earlier version of D-ZOA."""
