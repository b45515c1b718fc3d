"""Ryu, Kim (2021), DP-IADMM, and the images that it classifies."""
