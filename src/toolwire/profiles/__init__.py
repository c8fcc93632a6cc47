"""Facts about what each provider accepts and refuses, with dates and sources."""
