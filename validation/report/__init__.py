"""The framework of all reports.

`estimates` are quantities with intervals, `statements` sentences with verdicts; `tables`, `figures` and `page` show them; a
`publication.Report` prints them and writes page, CSV, JSON and Markdown; `batches` are runs that can be resumed, and `setting`
lists their constants. `comparison` sets policies side by side, which `intervals` draws. A paper adds its own runs, tables and statements in a folder of `papers/`.
"""
