"""The framework of all reports.

`estimates` are quantities with intervals, `statements` sentences with verdicts, `comparison` sets policies side by side;
`tables`, `figures`, `intervals` and `page` show them; a `publication.Report` prints them and writes page, CSV, JSON and
Markdown; `batches` are runs that can be resumed, and `setting` lists their constants. A paper adds its own runs, tables and
statements in a folder of `papers/`.
"""
