"""What each provider accepts and refuses, as dated facts with sources."""
