"""The gateway: one door in front of all models, for every wire that clients speak."""
