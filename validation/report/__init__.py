"""The framework that every report stands on: estimates, statements, tables, figures, pages, files and resumable runs."""
