"""What reports on reproduced papers share: the page, tables in all places, intervals and verdicts."""
