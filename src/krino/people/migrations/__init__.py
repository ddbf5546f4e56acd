"""The steps from one form of the database to the next, run by `krino.people.database` when a server starts."""
