"""Every registered spec: once at its smallest size with the tests, at every size and timed with `--benchmark-enable`.

    python -m pytest benchmarks/test_speed.py --benchmark-enable -n 0                  # everything
    python -m pytest benchmarks/test_speed.py --benchmark-enable -n 0 -k "literal"     # what has a word in its name

Times are those of the processor, so that what else runs on the machine counts little.
"""

from time import process_time

import pytest
from registry import cases


def pytest_generate_tests(metafunc):
    """One test per case; all sizes only where they are timed."""
    smoke = not metafunc.config.getoption("benchmark_enable")
    # One worker imports the other libraries.
    others = pytest.mark.xdist_group("modelling")
    found = [pytest.param(case, id=str(case), marks=others if case.spec.package != "edrp" else ()) for case in cases(smoke)]
    metafunc.parametrize("case", found)


@pytest.mark.benchmark(timer=process_time, warmup=False)
def test_speed(benchmark, case):
    """The call runs; how long it takes is for pytest-benchmark to say."""
    benchmark.group = f"{case.spec.name} - {case.phase}"
    benchmark(case.prepared())
