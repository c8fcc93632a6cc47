"""The content shape: contents with a role and a list of parts. The field of a part shows its
type."""
