"""The content shape: contents with a role and a list of parts, each known by the field it has."""
