"""What rules about ids share: formats of ids, what is wrong with them, and edits of them."""
