"""Makes a case of what a framework holds about a sample, as the files of other tools are read."""

from krino.cases.tools.case_parts import make_case

__all__ = ["make_case"]
