"""Labels that people give: their database, their pages and their API."""
