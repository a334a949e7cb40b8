"""The framework of all reports.

`estimates` are quantities with intervals, `statements` sentences with verdicts, `comparison` sets policies side by side;
`tables`, `figures`, `intervals` and `page` show them; a `publication.Report` prints them and writes page, CSV, JSON and
Markdown; `setting` lists constants; `progress` shows the bar of a long command. Papers add their own runs, tables and
statements in folders of `validation/papers/`.
"""
