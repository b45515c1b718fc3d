"""Nozari, Tallapragada, Cortes (2016), functional perturbation."""
