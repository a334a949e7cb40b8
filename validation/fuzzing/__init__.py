"""Fuzzing of the whole package: documents that are mutated within and beyond their structure, and what must hold of any of them.

Kinds of problems of other packages are fuzzed as those of this one. Needs the extra `test`; see
`python -m edrp.validation.fuzzing --help`.
"""
