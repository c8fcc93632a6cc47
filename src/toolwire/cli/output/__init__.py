"""What commands write: JSON, tables, reports, pages, transcripts."""
