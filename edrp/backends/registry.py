"""The registry of backends: each stands in one class, from which its method of the same name is made."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pkgutil import resolve_name

from edrp.backends.base import Backend
from edrp.backends.names import OWN_BACKENDS
from edrp.core.arguments import described
from edrp.core.errors import BackendUnavailableError, EdrpError, Fault, InvalidArgumentError
from edrp.core.methods import register
from edrp.core.plugins import added, own, refuse_taken
from edrp.core.wording import suggestion


@cache
def backends() -> dict[str, Backend]:
    """All registered backends by name, installed or not; those of other packages (entry point `edrp.backends`) come last."""
    known: dict[str, Backend] = {name: resolve_name(place)() for name, place in OWN_BACKENDS.items()}
    for backend in added("edrp.backends"):
        known.setdefault(backend.name, backend)
    return known


def register_backend(backend: Backend, *, replace: bool = False) -> Backend:
    """Add a backend under its name, and the method of that name, which solves by it the program of every kind that has one.

    Both travel to the workers of batches and to Spark. A package offers its backends by the entry point `edrp.backends`.

    Parameters
    ----------
    backend
        An instance of a subclass of `edrp.backends.Backend`.
    replace
        Whether to replace a backend of that name which was registered before; those of this package are never replaced.

    Raises
    ------
    InvalidArgumentError
        When it is no backend, or its name is taken, also by another method.
    """
    if not isinstance(backend, Backend):
        made = f": {backend.__name__}()" if isinstance(backend, type) else ""
        why = f"is {described(backend)}; give an instance of a subclass of edrp.backends.Backend{made}"
        raise InvalidArgumentError([Fault("backend", "", why)], "edrp.register_backend")
    if backend.name in backends():
        ours = backend.name in OWN_BACKENDS
        refuse_taken("edrp.register_backend(backend)", f"a backend called {backend.name!r}", ours=ours, replace=replace)
    register(own("edrp.backends")(backend), replace=replace)
    backends()[backend.name] = backend
    return backend


def available_backends() -> tuple[str, ...]:
    """Names of the backends whose package is installed; nothing is imported to find out.

    >>> "highs" in available_backends()
    True
    """
    return tuple(name for name, backend in backends().items() if not _missing(backend))


def _missing(backend: Backend) -> str:
    """Return the first package that a backend needs and that is not installed, or an empty string."""
    return next((package for package in backend.packages if find_spec(package) is None), "")


def get_backend(name: str | Backend) -> Backend:
    """The backend of that name, or the given one, ready to use.

    Raises
    ------
    EdrpError
        When there is none of that name.
    BackendUnavailableError
        When its package is not installed; the message names the extra.
    """
    if isinstance(name, str) and name not in backends():
        raise EdrpError(f"no backend {name!r}{suggestion(name, backends())}")
    backend = backends()[name] if isinstance(name, str) else name
    if package := _missing(backend):
        extra = f'"edrp[{backend.extra}]"' if backend.extra else package
        raise BackendUnavailableError(f"backend {backend.name!r} needs the package {package}; run: pip install {extra}")
    return backend
