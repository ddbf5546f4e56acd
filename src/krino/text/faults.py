"""What an exception says. Its `__str__` may be a judge's own code, which can break as any other."""

from __future__ import annotations

from krino.text.clean import sound


def fault_message(fault: BaseException) -> str:
    """Returns the message of a fault as text that can be written; a note instead if its `__str__` raises."""
    try:
        return sound(str(fault))
    except KeyboardInterrupt:
        raise
    except BaseException as broken:
        return f"(its message cannot be read: __str__ raises {type(broken).__name__})"


def describe_exception(fault: BaseException) -> str:
    """Returns the class and the message of an exception: `ValueError: ...`."""
    return f"{sound(type(fault).__name__)}: {fault_message(fault)}"
