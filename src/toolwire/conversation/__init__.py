"""The neutral conversation: its parts, its ids, and how calls and results find each other."""
