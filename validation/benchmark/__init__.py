"""The benchmark of methods: suites of instances, what is measured, and the report."""
