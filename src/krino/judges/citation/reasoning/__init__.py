"""Reads the matcher's reasoning by its words: what it mentions, what it claims, and what it objects to."""

from krino.text.package_data import PackageData

table = PackageData(__name__).table
