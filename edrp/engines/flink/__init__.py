"""Apache Flink, 1.20 to 2.3, by its REST API."""
