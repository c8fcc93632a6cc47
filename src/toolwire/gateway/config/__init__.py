"""The configuration of a gateway: its TOML file, the models in it, and reading it again."""
