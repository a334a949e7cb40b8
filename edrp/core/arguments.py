"""Arguments of the public functions: one check, which says what was given and what would be right."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from edrp.core.certificates import CertificateRequest
from edrp.core.document import Document
from edrp.core.errors import Fault, InvalidArgumentError, UnsupportedProblemError
from edrp.core.problem import Problem
from edrp.core.solution import Solution
from edrp.core.wording import shown

ANY_PROBLEM = "edrp.load(path) reads one from a file, and classes such as edrp.EdrpProblem make one"


def check_arguments(function: str, **arguments: Any) -> None:
    """Refuse arguments that are not what their names stand for, all of them at once.

    Parameters
    ----------
    function
        The public function, as its callers write it; empty where there are several.
    **arguments
        Its arguments by name; what each name stands for is the same in every function.

    Raises
    ------
    InvalidArgumentError
        Naming each argument, what was given and what would be right.

    Examples
    --------
    >>> check_arguments("edrp.solve", problem={"kind": "edrp"}, time_limit="30", seed=1)
    Traceback (most recent call last):
    edrp.core.errors.InvalidArgumentError: edrp.solve: 2 faults in the arguments
      problem: is a dict; edrp.loads(json.dumps(problem)) makes a problem of it, and edrp.load(path) reads one from a file
      time_limit: must be a number of seconds of at least 0, such as 0.5, or None for no limit; write it without quotes (got "30")
    """
    faults = [fault for name, value in arguments.items() if (fault := _fault(name, value)) is not None]
    if faults:
        raise InvalidArgumentError(faults, function)


def refuse_other_kinds(function: str, problem: Problem, wanted: type[Problem]) -> None:
    """Refuse a problem of a kind that a function is not about.

    Raises
    ------
    UnsupportedProblemError
        Naming both kinds.
    """
    if not isinstance(problem, wanted):
        kind = wanted.model_fields["kind"].default
        raise UnsupportedProblemError(f"{function} takes problems of kind {kind!r}; this one is of kind {problem.kind!r}")


def described(value: object) -> str:
    """Describe a value in words.

    >>> described({}), described(3.5), described(Problem)
    ('a dict', 'a float', 'the class Problem')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, str | os.PathLike):
        return "text" if isinstance(value, str) else "a path"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOaeiou' else 'a'} {name}"


def _fault(name: str, value: object) -> Fault | None:
    if name in SPECIAL:
        why = SPECIAL[name](value)
        return Fault(name, "", why) if why else None
    fits, words = PLAIN[name]
    if fits(value):
        return None
    unquoted = isinstance(value, str) and any(fits(read) for read in _readings(value))
    return Fault(name, shown(value), words + "; write it without quotes" * unquoted)


def _readings(text: str) -> Iterable[object]:
    """The numbers and words of Python that a text may be meant for."""
    for read in (int, float, {"None": None, "True": True, "False": False}.__getitem__):
        try:
            yield read(text)
        except (ValueError, KeyError):
            continue


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) >= 0


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _or_none(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or fits(value)


LIMIT = _or_none(_is_number)

PLAIN: dict[str, tuple[Callable[[object], bool], str]] = {
    "time_limit": (LIMIT, "must be a number of seconds of at least 0, such as 0.5, or None for no limit"),
    "work_limit": (LIMIT, "must be a number of at least 0, or None for no limit"),
    "gap": (_is_number, "must be a number of at least 0, such as 0.01 for 1 %"),
    "seed": (lambda value: _is_count(value, 0), "must be a whole number of at least 0"),
    "threads": (lambda value: _is_count(value, 1), "must be a whole number of at least 1"),
    "points": (_or_none(lambda value: _is_count(value, 2)), "must be a whole number of at least 2, or None for all points"),
    "seeds": (_or_none(lambda value: _is_count(value, 1)), "must be how many: a whole number of at least 1, or None"),
    "n_jobs": (
        _or_none(lambda value: isinstance(value, Integral) and not isinstance(value, bool)),
        "must be a number of processes, or None for one per core",
    ),
    "kill_after": (_or_none(_is_number), "must be a number of seconds, or None"),
    "program": (_or_none(_is_text), 'must be the name of a program, such as "compact", or None'),
    "backend": (_is_text, 'must be the name of a backend, such as "highs"'),
    "first": (_is_text, 'must be the name of a metric, such as "cost"'),
    "second": (_is_text, 'must be the name of a metric, such as "response_time"'),
    "progress": (_or_none(callable), "must be a function, or None"),
    "certify": (lambda value: isinstance(value, bool | CertificateRequest), "must be True or False"),
}
"""Arguments of one form: whether a value has it, and the form in words."""


def _problem_refusal(value: object) -> str:
    """Why a value is no problem, and how to get one; empty where it is one."""
    if isinstance(value, Problem) or (hasattr(value, "evaluate") and hasattr(value, "kind") and not isinstance(value, type)):
        return ""
    given = described(value)
    if isinstance(value, str | os.PathLike):
        path = os.fspath(value)
        if isinstance(path, str) and path.lstrip().startswith("{"):
            return f"is JSON text; edrp.loads({_short(path)}) makes a problem of it"
        return f"is {given}; edrp.load({_short(path)}) reads the problem of a file"
    if isinstance(value, Mapping) and not any(isinstance(member, Problem) for member in value.values()):
        return f"is {given}; edrp.loads(json.dumps(problem)) makes a problem of it, and edrp.load(path) reads one from a file"
    if isinstance(value, Solution):
        return f"is {given}; give the problem that it answers"
    if isinstance(value, Document):
        return f"is {given}, which is a part of a problem: edrp.EdrpProblem(application=…, network=…, …) puts one together"
    if hasattr(value, "program") and hasattr(value, "decode"):
        return "is a formulation; edrp.solve_formulation solves it"
    if isinstance(value, Iterable) and not isinstance(value, bytes | type):
        return f"is {given}; give one problem, or solve several with edrp.solve_batch"
    return f"is {given}; {ANY_PROBLEM}"


def _instances_refusal(value: object) -> str:
    """Why a value is no source of instances; empty where it may be one."""
    if isinstance(value, Problem):
        return f"is {described(value)}; edrp.solve solves one problem, [problem] is a list of it"
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str):
        return "is the document of a single problem; give a list of problems, or a dict of problems by name"
    frame = hasattr(value, "__arrow_c_stream__") or hasattr(value, "sparkSession")
    if frame or (isinstance(value, Iterable | os.PathLike) and not isinstance(value, Document)):
        return ""
    taken = "a folder, a table with the columns id and instance, or problems in a list or by name in a dict"
    return f"is {described(value)}; give {taken}"


def _method_refusal(value: object) -> str:
    if isinstance(value, str):
        return ""
    if hasattr(value, "run") and hasattr(value, "kinds"):
        instance = f"{value.__name__}()" if isinstance(value, type) else "method"
        return f"is {described(value)}; register it by edrp.register({instance}), and give its name"
    if isinstance(value, list | tuple | set):
        return f"is {described(value)}; name one method; edrp.solve_batch compares several"
    return f'is {described(value)}; give the name of a method, such as "highs"'


def _path_refusal(value: object) -> str:
    if isinstance(value, Problem | Solution):
        return f"is {described(value)}; the path comes after it: edrp.save(problem, path)"
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        return "is JSON text; edrp.loads(text) reads it"
    if isinstance(value, str | os.PathLike):
        return ""
    return f"is {described(value)}; give the path of a file"


def _needing(is_one: Callable[[Any], bool], advice: str) -> Callable[[Any], str]:
    """What to say of values that are none of a sort."""
    return lambda value: "" if is_one(value) else f"is {described(value)}; {advice}"


def _kind_refusal(value: object) -> str:
    if isinstance(value, str):
        return ""
    problem = value if isinstance(value, type) else type(value)
    name = problem.model_fields["kind"].default if issubclass(problem, Problem | Solution) else "edrp"
    return f"is {described(value)}; give the name of a kind: {name!r}"


def _text_refusal(value: object) -> str:
    if isinstance(value, os.PathLike) or (isinstance(value, str) and value.endswith(".json") and "{" not in value):
        return "is a path; edrp.load(path) reads a file"
    if isinstance(value, str):
        return ""
    return f"is {described(value)}; give JSON text, such as json.dumps(…) makes; edrp.load(path) reads a file"


SPECIAL: dict[str, Callable[[Any], str]] = {
    "problem": _problem_refusal,
    "instances": _instances_refusal,
    "method": _method_refusal,
    "path": _path_refusal,
    "out": _needing(lambda value: value is None or isinstance(value, str | os.PathLike), "give the path of a folder"),
    "spark": _needing(
        lambda value: value is None or hasattr(value, "createDataFrame"),
        "give a SparkSession, such as SparkSession.builder.getOrCreate() makes",
    ),
    "options": lambda value: "give them one by one, as in edrp.solve(problem, time_limit=30)",
    "kind": _kind_refusal,
    "document": _needing(
        lambda value: isinstance(value, Problem | Solution),
        "a problem or a solution comes first, then the path: edrp.save(problem, path)",
    ),
    "text": _text_refusal,
    "formulation": _needing(
        lambda value: hasattr(value, "program") and hasattr(value, "decode"),
        "give a formulation: edrp.formulate(problem) makes one",
    ),
}
"""Arguments of which there is more to say than the form that they must have; why a value is none, or an empty string."""


def _short(text: object) -> str:
    return repr(text) if len(str(text)) <= 40 else "text"
