"""The benchmark of methods: suites of instances, what is measured, and the report."""

from edrp.validation.benchmark.suite_run import Benchmark, run_benchmark, write_benchmark
from edrp.validation.benchmark.suites import Suite, all_suites, get_suite

__all__ = ["Benchmark", "Suite", "all_suites", "get_suite", "run_benchmark", "write_benchmark"]
