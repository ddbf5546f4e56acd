"""What is known of Belgian case law: courts, places, case numbers, ECLIs, dates and legal terms, with their tables."""

from krino.text.package_data import PackageData

table = PackageData(__name__).table
