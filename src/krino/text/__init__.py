"""Text from strangers: made harmless, folded, split into words, compared."""
