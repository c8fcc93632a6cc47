"""Output of commands: JSON, tables, reports, pages, transcripts."""
