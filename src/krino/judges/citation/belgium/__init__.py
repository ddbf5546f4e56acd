"""Parsers and tables for Belgian case law: courts, places, case numbers, ECLIs, dates and legal terms."""

from krino.text.package_data import PackageData

table = PackageData(__name__).table
