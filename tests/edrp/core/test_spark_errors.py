"""Errors of Spark become one sentence, wherever a job fails: PySpark's own, and those of Java that it lets through."""

import numpy as np
import pytest

import edrp
from edrp.core.errors import BackendUnavailableError
from edrp.core.spark import translated_errors
from edrp.datasets.traces.events import prepare_trace
from edrp.mdp.partitions import Tasks
from edrp.mdp.policy.many_policies import precompute_policies
from edrp.mdp.policy.process import PolicyModel
from edrp.mdp.policy.spark_engine import Spark
from edrp.mdp.policy.store import precompute_policy

pytestmark = pytest.mark.xdist_group("spark")  # one session for all, in one worker

TOO_LARGE = r"Job aborted due to stage failure: Total size of .* is bigger than spark\.driver\.maxResultSize .*\Z"


@pytest.fixture
def session_without_room(spark):
    """A session whose driver takes no results at all."""
    settings = spark.sparkContext._jsc.sc().conf()
    settings.set("spark.driver.maxResultSize", "1")
    yield spark
    settings.remove("spark.driver.maxResultSize")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[NO_SUCH_TABLE] there is none;\n'Project", "[NO_SUCH_TABLE] there is none;"),
        ("An error occurred while calling o1.x.\n: org.apache.spark.SparkException: Too big\n\tat a.B(c)", "Too big"),
        (
            "An error\n: java.io.IOException: first\n\tat a.B(c)\nCaused by: a.b.MyException: deeper: last\n\tat a.B(c)",
            "deeper: last",
        ),
        ("\n  An exception\nTraceback:\n  File\nOSError: [Errno 28] No space\n", "OSError: [Errno 28] No space"),
        ("", "Py4JError"),
    ],
)
def test_the_reason_is_one_sentence(text, reason):
    spark_error = type("Py4JError", (Exception,), {"__module__": "py4j.protocol"})
    with pytest.raises(BackendUnavailableError) as raised, translated_errors("the batch"):
        raise spark_error(text)
    assert str(raised.value) == f"the batch failed on Spark: {reason}"
    with pytest.raises(KeyError), translated_errors("the batch"):  # errors of others stay
        raise KeyError(text)


@pytest.mark.parametrize("subject", ["a sweep", "the policies", "the batch", "the trace"])
def test_results_that_the_driver_does_not_take_are_named(session_without_room, examples, tmp_path, subject):
    spark = session_without_room
    model = PolicyModel(Tasks.of(np.ones(6), np.ones(6)), (2, 3), 0.9, False, np.full((2, 2), 0.5), 0.5)
    events = spark.range(4).selectExpr("cast(id as double) as time", "id as key")
    calls = {
        "a sweep": lambda: precompute_policy(model, Spark(spark), tmp_path / "policy"),
        "the policies": lambda: precompute_policies({"a": model}, Spark(spark), tmp_path),
        "the batch": lambda: edrp.solve_batch(examples / "migration.json", "ssm", spark=spark, out=tmp_path / "out"),
        "the trace": lambda: prepare_trace(events),
    }
    with pytest.raises(BackendUnavailableError, match=rf"\A{subject} failed on Spark: {TOO_LARGE}"):
        calls[subject]()
