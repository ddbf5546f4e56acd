"""The citation judge; its own tables and texts are loaded here, each once."""

from krino.text.package_data import PackageData

_DATA = PackageData(__name__)
table = _DATA.table
package_text = _DATA.text
