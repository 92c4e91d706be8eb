"""One test for many cases: a loop that goes on after a fault and lists all of them at its end."""

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import Any, TypeVar

import pytest
from _pytest.mark import ParameterSet

Test = TypeVar("Test", bound=Callable[..., None] | type)


def some(cases: Iterable[Any], quick: Collection[Any]) -> list[ParameterSet]:
    """Cases to parametrize a test with, as trials but for the quick ones: those that find most."""
    return [pytest.param(case, marks=[] if case in quick else [pytest.mark.trial]) for case in cases]


def for_every(
    argument: str, cases: Iterable[Any], name: Callable[[Any], str] = str
) -> Callable[[Test], Test]:
    """Call the test, or each test of the class, with every case as that argument, in one test.

    It takes the place of `parametrize` where there are hundreds of quick cases: collecting and reporting
    each as a test of its own takes longer than the cases do. All that fail are raised together as an
    ExceptionGroup, each with its name; AssertionError where there is no case at all.
    """
    listed = list(cases)

    def decorate(test: Test) -> Test:
        if isinstance(test, type):
            for method_name, method in list(vars(test).items()):
                if method_name.startswith("test_"):
                    setattr(test, method_name, _looped(method, argument, listed, name))
            return test
        return _looped(test, argument, listed, name)

    return decorate


def _looped(test: Any, argument: str, cases: list[Any], name: Callable[[Any], str]) -> Any:
    signature = inspect.signature(test)
    others = [each for each in signature.parameters.values() if each.name != argument]
    assert len(others) < len(signature.parameters), f"{test.__name__} takes no {argument}"
    rest = signature.replace(parameters=others)

    @wraps(test)
    def looped(*arguments: Any, **fixtures: Any) -> None:
        assert cases, f"there is no {argument} to test with"
        given, faults = rest.bind(*arguments, **fixtures).arguments, []
        for case in cases:
            try:
                test(**given, **{argument: case})
            except (Exception, pytest.fail.Exception) as fault:
                fault.add_note(f"{argument}: {name(case)}")
                faults.append(fault)
        if faults:
            raise BaseExceptionGroup(f"{len(faults)} of {len(cases)} failed", faults)

    looped.__signature__ = rest  # type: ignore[attr-defined]
    return looped
