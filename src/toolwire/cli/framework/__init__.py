"""What every command shares: the group of commands, errors, signals, optional packages."""
