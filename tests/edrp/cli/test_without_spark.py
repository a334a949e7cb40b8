"""Commands that are to run on Spark look for PySpark and Java before they do anything else."""

import pytest

import edrp.core.spark as sessions

ON_SPARK = [
    "policy precompute nothere.json --out out --spark local[2]",
    "policy precompute nothere.json --out out --engine spark",
    "batch nothere.parquet --out out --spark local[2]",
    "benchmark --suite nosuchsuite --out out --spark local[2]",
    "trace prepare nothere.csv",
    "reproduce enactment --quick --spark local[2]",
    "reproduce bimodal --quick --spark local[2]",
]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """An empty folder to work in, which stays empty."""
    monkeypatch.chdir(tmp_path)
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ON_SPARK)
def test_without_pyspark_the_extra_is_named_before_anything_is_done(run, elsewhere, monkeypatch, words):
    monkeypatch.setattr(sessions, "find_spec", lambda name: None)
    result = run(*words.split())
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert 'pip install "edrp[spark]"' in result.err


@pytest.mark.parametrize("words", ON_SPARK[-2:])
def test_without_java_its_absence_is_said_before_anything_is_done(run, elsewhere, monkeypatch, words):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    result = run(*words.split())
    assert (result.code, result.out) == (2, "")
    assert result.err == "JAVA_HOME is '/nowhere', which has no bin/java; correct it or unset it\n"


def test_spark_connect_needs_no_java_here(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    sessions.require_spark("sc://host:15002")
