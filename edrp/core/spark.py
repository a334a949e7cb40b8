"""Spark sessions for the command line and the tests. Library functions take a session and leave it as it is."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO
from uuid import uuid4

from edrp.core.errors import BackendUnavailableError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Set to 1 in workers: Spark runs one per core, and each with threads of its own would run cores² of them."""

DAEMON, PRELOADED = "edrp.core.spark_daemon", "EDRP_PRELOADED"
"""Module of the daemon of Python workers, and the environment variable that tells it what to load."""

PRELOADED_MODULES = ("pyspark.worker", "pandas", "numpy", "edrp.batch.child")
"""Modules that workers need, whatever they solve."""

TASK_ATTEMPTS = 4
"""How often Spark tries a task by default, except with a local master, where that is part of the master's name."""

PACKAGES_OF_SPARK = ("pyspark", "py4j", "grpc")
"""Where errors of Spark are from: PySpark's own, Java's where PySpark calls it unguarded, and those of Spark Connect."""

JAVA_ERROR = re.compile(r"(?:[a-z]\w*\.)+\w+(?:Exception|Error): ")

NO_JAVA = (
    'Spark needs Java 17 or later and found none; install it with your system, or: pip install "edrp[java]" '
    "and python -c \"import jdk; jdk.install('17')\", or set JAVA_HOME"
)


@contextmanager
def spark_session(master: str = "local[2]", *, memory: str = "2g", in_python: bool = False) -> Iterator[SparkSession]:
    """A session on `master` for as long as the block lasts; an active one is used as it is and left running.

    Workers run this interpreter unless `PYSPARK_PYTHON` says otherwise, with one thread each. The output of Java
    goes to a file that is shown only if Spark does not start.

    Parameters
    ----------
    master
        `local[cores]`, `spark://host:port`, `yarn`, …; `sc://host:port` for a Spark Connect server.
    memory
        Memory of the driver, which with a local master is all there is ("2g", "512m").
    in_python
        Whether Python does the work, or there is little: Java then starts sooner and spends less on compiling itself.

    Raises
    ------
    BackendUnavailableError
        Without PySpark or Java, or when Spark does not start on that master.

    Examples
    --------
    >>> with spark_session("local[2]") as spark:  # doctest: +SKIP
    ...     spark.range(10).count()
    10
    """
    _require_pyspark()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    require_spark(master)
    mine, interrupt = threading.current_thread() is threading.main_thread(), signal.getsignal(signal.SIGINT)
    if master.startswith("sc://"):
        spark = _started(SparkSession.builder.remote(master), master)
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master(with_retries(master))
        for key, value in settings(master, memory, in_python=in_python).items():
            builder = builder.config(key, value)
        spark = _started(builder, master)
    try:
        yield spark
    finally:
        spark.stop()
        if mine:  # Spark's own would go on asking the stopped session to cancel its jobs
            signal.signal(signal.SIGINT, interrupt)


def settings(master: str, memory: str = "2g", *, in_python: bool = False) -> dict[str, str]:
    """The configuration of our own sessions: quiet, few partitions of small tables, one thread per worker.

    >>> settings("local[2]")["spark.executorEnv.OMP_NUM_THREADS"]
    '1'
    """
    chosen = {
        "spark.app.name": "edrp",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": memory,
        **{f"spark.executorEnv.{name}": "1" for name in THREAD_COUNTS},
    }
    if master.startswith("local"):
        chosen |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "4"}
    if in_python:
        chosen["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        if master.startswith("local"):  # elsewhere this package may come to the workers only after their daemon has started
            chosen |= {"spark.python.daemon.module": DAEMON, f"spark.executorEnv.{PRELOADED}": ",".join(PRELOADED_MODULES)}
    return chosen


def with_retries(master: str) -> str:
    """A local master on which Spark tries a task again whose Python worker was killed, as it does on a cluster.

    >>> with_retries("local[2]"), with_retries("local[2, 1]"), with_retries("local"), with_retries("spark://here:7077")
    ('local[2,4]', 'local[2, 1]', 'local[1,4]', 'spark://here:7077')
    """
    cores = "1" if master == "local" else master.removeprefix("local[").removesuffix("]")
    plain = master in ("local", f"local[{cores}]") and "," not in cores
    return f"local[{cores},{TASK_ATTEMPTS}]" if plain else master


def require_spark(master: str) -> None:
    """Refuse to go on without what a session on `master` needs; nothing is started or imported, so that this comes first.

    Raises
    ------
    BackendUnavailableError
        Without PySpark, or without Java where this process has to start it; the message names what to install.
    """
    _require_pyspark()
    if not master.startswith("sc://"):
        _find_java()


def _require_pyspark() -> None:
    missing = [name for name in ("pyspark", "pandas") if find_spec(name) is None]
    if missing:
        raise BackendUnavailableError(
            f'Spark needs the packages pyspark and pandas: pip install "edrp[spark]" ({missing[0]} is missing)'
        )


def map_in_arrow(frame: DataFrame, function: Callable[..., Any], schema: Any) -> DataFrame:
    """`frame.mapInArrow`, run by this interpreter where the workers are on this machine, unless `PYSPARK_PYTHON` says otherwise.

    Spark itself would look for `python3`, which has other packages; a session of the user may not have been told.
    """
    context: Any = None
    with suppress(Exception):  # Spark Connect has no context, and says so with errors of its own
        context = frame.sparkSession.sparkContext
    if context is None or not context.master.startswith("local") or "PYSPARK_PYTHON" in os.environ:
        return frame.mapInArrow(function, schema)
    before, context.pythonExec = context.pythonExec, sys.executable
    try:
        return frame.mapInArrow(function, schema)
    finally:
        context.pythonExec = before


@contextmanager
def translated_errors(what: str) -> Iterator[None]:
    """Raise errors of Spark in the block as one sentence that says that `what` failed, and why; all others as they are.

    Raises
    ------
    BackendUnavailableError
        A job of Spark failed, as it does where workers lack a package or memory, or results are larger than the driver takes.
    """
    try:
        with warnings.catch_warnings():  # in which PySpark repeats the error with all of Java's stack
            warnings.filterwarnings("ignore", "toPandas attempted Arrow optimization", UserWarning)
            yield
    except Exception as error:
        modules = {base.__module__.partition(".")[0] for base in type(error).__mro__}
        if modules.isdisjoint(PACKAGES_OF_SPARK):
            raise
        raise BackendUnavailableError(f"{what} failed on Spark: {failure_reason(error)}") from error


def failure_reason(error: Exception) -> str:
    r"""Return the reason in an error of Spark, whose text may be a page of Java: the last error of Python, else the last cause.

    >>> failure_reason(Exception("An error occurred.\n: org.apache.Failed: Aborted\nCaused by: a.b.MyException: Too big"))
    'Too big'
    """
    lines = [line.strip() for line in str(error).splitlines()] or [type(error).__name__]
    causes = [line.removeprefix("Caused by").removeprefix(": ") for line in lines if line.startswith(("Caused by: ", ": "))]
    raised = [line for line in lines if re.match(r"[\w.]*Error: ", line)]
    return JAVA_ERROR.sub("", [lines[0], *causes, *raised][-1], count=1)


@contextmanager
def cancelled_with_us(spark: SparkSession) -> Iterator[None]:
    """Cancel the jobs that the block has started, and only those, when it ends with an exception such as Ctrl-C."""
    tag = f"edrp-{uuid4().hex}"
    spark.addTag(tag)
    try:
        yield
    except BaseException:
        spark.interruptTag(tag)
        raise
    finally:
        spark.removeTag(tag)


def in_background(spark: SparkSession, job: Callable[[], object], watch: Callable[[], None]) -> None:
    """Run a job in a thread and look about twice a second how far it is; Ctrl-C cancels this job and no other.

    Parameters
    ----------
    spark
        Session of the job.
    job
        Starts it and waits for it; what it raises is raised here.
    watch
        Called while it runs, in this thread.

    Examples
    --------
    >>> in_background(session, frame.collect, lambda: print("running"))  # doctest: +SKIP
    """
    tag = f"edrp-{uuid4().hex}"
    ended: list[BaseException] = []

    def run() -> None:
        spark.addTag(tag)
        try:
            job()
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.5)
            watch()
    except BaseException:
        spark.interruptTag(tag)
        thread.join()
        raise
    if ended:
        raise ended[0]


def _started(builder: SparkSession.Builder, master: str) -> SparkSession:
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            with _standard_error_into(log):
                return builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            messages = [line.strip() for line in log if ("Exception" in line or "Error" in line) and not line.startswith("\tat")]
            reasons = [*messages[:3], *str(error).splitlines()[:1]]
            raise BackendUnavailableError("\n  ".join([f"Spark does not start on {master!r}", *reasons])) from None


@contextmanager
def _standard_error_into(log: TextIO) -> Iterator[None]:
    """Let processes that start in the block inherit `log` as their standard error: Java takes no other hint."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _find_java() -> None:
    """See that Java can be found, also where install-jdk puts it."""
    home = os.environ.get("JAVA_HOME")
    if home:
        if shutil.which("java", path=str(Path(home) / "bin")) is None:
            raise BackendUnavailableError(f"JAVA_HOME is {home!r}, which has no bin/java; correct it or unset it")
        return
    if shutil.which("java"):
        return
    installed = sorted((Path.home() / ".jdk").glob("*/bin/java")) + sorted((Path.home() / ".jre").glob("*/bin/java"))
    if not installed:
        raise BackendUnavailableError(NO_JAVA)
    os.environ["JAVA_HOME"] = str(installed[-1].parent.parent)
