"""Checks certificates and the code that goes with them, independently of the C++ engine."""
