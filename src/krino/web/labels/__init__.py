"""Labelling by people: the queue, the forms, the API and the live agreement."""
