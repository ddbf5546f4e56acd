"""A verdict in one word and by columns, and the tables of a whole run."""
