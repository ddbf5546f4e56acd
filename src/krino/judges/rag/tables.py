"""This judge's own tables and texts, each loaded once."""

from __future__ import annotations

from krino.text.package_data import PackageData

_DATA = PackageData(__name__.rpartition(".")[0])
table = _DATA.table
package_text = _DATA.text
