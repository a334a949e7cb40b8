"""Many instances, several methods: batches on one machine and on Spark."""

from edrp.batch.journal import BatchProgress
from edrp.batch.rows import COLUMNS, RESULT_SCHEMA, SCHEMA_VERSION
from edrp.batch.run import solve_batch
from edrp.batch.stored import StoredRows, read_rows

__all__ = ["COLUMNS", "RESULT_SCHEMA", "SCHEMA_VERSION", "BatchProgress", "StoredRows", "read_rows", "solve_batch"]
