"""The benchmark of methods: suites of instances, what is measured, and the report."""

from edrp.validation.benchmark.run import Benchmark, run_benchmark, write_benchmark
from edrp.validation.benchmark.suites import Suite, get_suite, suites

__all__ = ["Benchmark", "Suite", "get_suite", "run_benchmark", "suites", "write_benchmark"]
