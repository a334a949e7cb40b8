"""Documentation is true: blocks and examples run, tables match the code, every public name says what it is."""

import doctest
import importlib
import re
import runpy
import shlex
import subprocess
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest
import yaml
from _pytest.mark import ParameterSet
from console import OMITTED, blocks, commands, is_shown, masked

import edrp
from edrp.core.kinds import kinds
from edrp.core.methods import methods

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = [
    ROOT / "README.md",
    *(page for folder in ("tutorials", "how-to") for page in sorted((ROOT / "docs" / folder).glob("*.md"))),
]
"""Pages whose Python and console blocks must do what they show."""
ROOMS = ("formulations", "heuristics", "mdp", "datasets", "validation")


def examples_by_folder() -> dict[str, list[str]]:
    """Modules with an example in a docstring, in the folder `edrp` and in the rooms next to it."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for folder in ("edrp", *ROOMS) for path in (ROOT / folder).rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            module = ".".join(parts if parts[0] == "edrp" else ("edrp", *parts))
            found.setdefault(path.parent.relative_to(ROOT).as_posix(), []).append(module)
    return found


EXAMPLES = examples_by_folder()

APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""SHA-256 of the licence as its authors publish it."""

SLOW = ("follow_the_load", "latency_aware", "mapping")
"""The script and the pages that solve longest."""


def by_name(paths: list[Path]) -> list[ParameterSet]:
    """The paths as parameters, of which the slowest are for `make test-slow`."""
    return [pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in SLOW else ()) for path in paths]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the examples in it, as a reader of the README has."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("folder", EXAMPLES)
def test_docstring_examples_run(folder, workplace):
    results = {name: doctest.testmod(importlib.import_module(name)) for name in EXAMPLES[folder]}
    assert [name for name, result in results.items() if result.failed] == []


@pytest.mark.parametrize("page", by_name([page for page in PAGES if blocks(page, "python")]))
def test_python_blocks_run(page, workplace):
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)


CONSOLE = [(page, block) for page in PAGES for block in blocks(page, "console")]


@pytest.mark.parametrize(("page", "block"), CONSOLE, ids=[f"{page.stem}: {block.splitlines()[0]}" for page, block in CONSOLE])
def test_console_blocks_print_what_they_show(page, block, run, workplace):
    for command, lines in commands(block):
        if command.startswith("edrp "):
            result = run(*shlex.split(command.removeprefix("edrp "))).ended(0)
            assert not lines or is_shown(lines, result.out), f"what is cut is marked by {OMITTED!r}; printed was\n{result.out}"
        else:
            subprocess.run(["sh", "-c", command], check=True, timeout=300)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["a 1", "b", "c"], True),
        (["a 1", OMITTED], True),
        (["a …", OMITTED, "c"], True),
        (["a 1", "c"], False),
        (["a 1"], False),
        (["a  1", "b", "c"], False),
        (["a 1", "c", "b"], False),
        (["a 1", "b", "c", OMITTED], False),
    ],
)
def test_output_cut_without_a_mark_is_noticed(lines, shown):
    assert is_shown(lines, "a 1  \nb\nc\n") == shown


def test_what_varies_between_runs_on_a_cluster_is_masked_and_nothing_else():
    shown = "step  bytes\n0     1,000\nPlan 0123456789ab on node-a: 1 step after 0.5 s"
    assert masked(shown) == masked("step  bytes\n12    20\nPlan fedcba987654 on node-c: 3 steps after 1.25e-3 s")
    assert masked(shown) != masked(shown.replace("on", "off"))
    assert masked(shown) != masked(shown.replace("after 0.5 s", "after"))


def test_after_make_demo_the_commands_it_prints_work(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    (tmp_path / "bin" / "edrp").write_text('#!/bin/sh\necho "ran $@"\n', encoding="utf-8")
    (tmp_path / "bin" / "edrp").chmod(0o755)
    (tmp_path / "bin" / "activate").write_text(f'PATH="{tmp_path}/bin:$PATH"\n', encoding="utf-8")
    (tmp_path / ".installed-demo").touch()
    make = subprocess.run(["make", "demo", f"VENV={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "ran demo" in make.stdout
    commands = make.stdout.splitlines()[-2:]
    assert f"`{commands[0].replace(str(tmp_path), '.venv')}`" in (ROOT / "README.md").read_text(encoding="utf-8")
    done = subprocess.run(["bash", "-c", "\n".join(commands)], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "ran solve examples/word_count.json\n"
    assert (ROOT / "examples" / "word_count.json").exists()


def test_version_licence_and_citation_agree_wherever_they_stand():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    releases = re.findall(r"^## ([\d.]+) – (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert (citation["version"], str(citation["date-released"])) == releases[0]
    assert project["version"] == citation["version"]
    assert edrp.__version__ == project["version"], "pyproject.toml has changed since `make install`"
    assert project["license"] == citation["license"] == "Apache-2.0"
    assert sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2
    assert project["authors"] == citation["authors"]


def test_the_five_papers_can_be_cited():
    papers = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["references"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The papers")[2]
    assert len(papers) == 5
    for paper in papers:
        names = ", ".join(author["family-names"] for author in paper["authors"])
        assert f"{names}: *{paper['title']}*" in readme
        assert paper["year"] > 2000


def test_method_table_lists_every_method():
    page = (REFERENCE / "methods.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([a-z0-9-]+)` \| (?:proves|searches) \| (.*) \|$", page, re.MULTILINE))
    assert rows == {name: method.summary for name, method in methods().items()}


@pytest.mark.parametrize("path", by_name(sorted((ROOT / "examples").glob("*.py"))))
def test_example_scripts_run(path, workplace, capsys):
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_field_tables_are_up_to_date():
    generator = runpy.run_path(str(REFERENCE / "field_tables.py"))
    for page, written in generator["pages"]().items():
        assert page.read_text(encoding="utf-8") == written, "run: python docs/reference/field_tables.py"


def test_every_kind_has_a_page_that_the_overview_names():
    overview = (REFERENCE / "instances.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\(kinds/([a-z-]+)\.md\)", overview)) == set(kinds())


def test_glossary_defines_each_term_once():
    terms = re.findall(r"^\| ([^|]+?) \|", (REFERENCE / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term for term in terms if term not in ("term", "---")]
    assert len(terms) > 40
    assert len(terms) == len(set(terms))


IN_SITE = ("docs", "examples", "findings")
"""Folders that the site has; what it takes from outside of `docs/` is in `docs/hooks/outside.py`."""


def test_links_between_documents_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
                top, *inside = (page.parent / target).resolve().relative_to(ROOT).parts
                assert not inside or top in IN_SITE, f"{page.name} links to {target}, which the site does not have"


DEVELOPERS_PAGES = [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "explanation").glob("*.md"))]


@pytest.mark.parametrize("page", DEVELOPERS_PAGES, ids=lambda page: page.stem)
def test_pages_for_developers_name_only_files_that_exist(page):
    text = page.read_text(encoding="utf-8")
    folders = "edrp|formulations|heuristics|mdp|datasets|validation|docs|tests|benchmarks"
    for name in re.findall(rf"`((?:{folders})/[\w/.*]*)`", text):
        assert list(ROOT.glob(name.rstrip("/"))), name
    for name in set(re.findall(r"`([\w*]+\.py)`", text)):
        assert any(list((ROOT / folder).rglob(name)) for folder in folders.split("|")), name


@pytest.mark.parametrize(("name", "limit"), [("README.md", 6_000), ("ARCHITECTURE.md", 8_000)])
def test_entrance_pages_stay_short(name, limit):
    assert len((ROOT / name).read_bytes()) <= limit
