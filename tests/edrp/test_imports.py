"""Imports: nothing that a command does not need, so that the first answer comes at once."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import edrp
import edrp.mdp
from edrp.cli.app import COMMANDS, load_command
from edrp.core.methods import methods
from edrp.method_modules import METHOD_MODULES

HEAVY = {"cloudpickle", "highspy", "joblib", "networkx", "numpy", "pandas", "pyarrow", "pydantic", "rich", "scipy"}
HEAVY |= {"cvxpy", "gurobipy", "matplotlib", "pyomo", "pyscipopt"}


def loaded(code: str, *arguments: object) -> set[str]:
    """Packages of `HEAVY` that a program has imported when it ends."""
    report = f"import atexit, sys; atexit.register(lambda: print('loaded', *({HEAVY} & sys.modules.keys())))"
    words = [sys.executable, "-c", f"{report}\n{code}", *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_the_package_itself_imports_nothing():
    assert loaded("import edrp") == set()


def test_help_imports_what_draws_it():
    assert loaded("from edrp.cli import main; main(['--help'])") == {"rich"}


def test_a_small_placement_is_proven_without_packages_of_graphs(examples):
    code = "from edrp.cli import main; main(['solve', '--method', 'highs', *sys.argv[1:]])"
    found = loaded(code, examples / "word_count.json")
    assert "highspy" in found
    assert not found - {"highspy", "numpy", "pydantic", "rich", "scipy"}


def test_reading_an_instance_imports_no_solver(examples):
    found = loaded("import edrp; [edrp.load(file) for file in sys.argv[1:]]", *sorted(examples.glob("*.json")))
    assert not found & {"networkx", "pyarrow", "pandas", "highspy"}


def test_the_contract_of_methods_needs_no_import_of_its_own(monkeypatch):
    monkeypatch.delattr(edrp, "testing", raising=False)
    assert callable(edrp.testing.check_method)


def test_type_checkers_and_interpreter_see_the_same_names():
    tree = ast.parse(Path(edrp.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom) and node.module != "edrp"]
    named = {alias.name: node.module for node in imports for alias in node.names}
    assert named == edrp._PLACES
    assert {*named, "errors", "__version__"} == set(edrp.__all__) == set(dir(edrp))
    assert all(getattr(room, name) is not None for room in (edrp, edrp.mdp) for name in room.__all__)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_command_says(name):
    summary = load_command(name).help.split("\n\n")[0].replace("\n", " ")
    assert COMMANDS[name].help == summary


def test_every_method_is_where_the_table_says():
    by_module = {name: module for module, names in METHOD_MODULES.items() for name in names}
    ours = {name: method for name, method in methods().items() if name in by_module}
    assert sorted(ours) == sorted(by_module)
    for name, module in by_module.items():
        assert ours[name] in __import__(module, fromlist=["METHODS"]).METHODS


INTERRUPTED = """
import sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "edrp.cli.app":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from edrp.cli import main
main(["--help"])
"""


def test_ctrl_c_while_the_command_line_is_imported_ends_it_quietly():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 130
    assert done.stderr == ""
