"""Readers of the file formats that cases come in, one module for each."""
