"""Huang, Mitra, Vaidya (2015), PDOP."""
