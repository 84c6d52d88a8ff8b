"""Calls compiled functions: arrays in, arrays out."""
