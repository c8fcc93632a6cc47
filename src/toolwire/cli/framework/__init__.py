"""The framework of the commands: the group, errors, signals, optional packages."""
