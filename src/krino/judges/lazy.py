"""A value worked out when it is first asked for, and kept: `functools.cached_property` without its lock.

Facts are made for every case and read by one thread; in Python 3.11 the lock costs more than most of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class lazy(Generic[T]):
    """Decorates a method without arguments; the first result takes the method's place on the object."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = ""
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Self | T:
        """Returns the value, computed at first use and stored on the instance; on the class the descriptor itself."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
