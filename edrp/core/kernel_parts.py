"""Kernels as parts of other kernels: code that stays intermediate until the kernel called from Python is translated with it.

Numba makes machine code of every function that it compiles. A helper's own is called by nobody: its callers link a copy, and
optimise that again. Here a helper is typed and lowered once, and optimised and translated only as a part of those callers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from edrp.core.compiling import compilation


class PartLibrary(JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of one helper and of those that it calls."""

    def finalize(self) -> None:
        """Leave it as it is."""
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


class PartDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A helper as its callers find it: compiled once for all numbers of a type, not again for each constant that it is given."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """The signature for arguments of some types."""
        words = {name: types.unliteral(value) for name, value in kws.items()}
        return super().get_call_template(tuple(types.unliteral(value) for value in args), words)


class PartCompiler(Compiler):  # type: ignore[misc]
    """Compiles a helper for the kernels that call it, and for nobody else."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Type and lower it; Numba finds it by the builtin function that stands for its entry, and that is never called."""
        state = self.state
        state.flags.no_compile = True
        state.library = PartLibrary(state.targetctx.codegen(), function.__qualname__)
        compiled = super().compile_extra(function)._replace(entry_point=[].append)
        state.targetctx.insert_user_function(compiled.entry_point, compiled.fndesc, [compiled.library])
        return compiled


class EntryCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel that is called from Python, with its parts."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile it, and give the parts their environments, which Numba knows where to find only now."""
        with compilation.waiting():
            compiled = super().compile_extra(function)
            for environment in compiled._find_referenced_environments():
                compiled.codegen.set_env(environment.env_name, environment)
            return compiled


def part_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """A function compiled for other kernels only: unpacking Python's tuples of arrays takes as much code as many a helper."""
    targets = {**options, "nopython": True, "no_cpython_wrapper": True}
    return PartDispatcher(function, targetoptions=targets, pipeline_class=PartCompiler)
