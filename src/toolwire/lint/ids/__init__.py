"""Code that rules about ids share: formats of ids, their faults, and edits of ids."""
