"""Reads the matcher's reasoning by its words: what it looks at, what it claims, and what it is worth."""

from krino.text.package_data import PackageData

table = PackageData(__name__).table
