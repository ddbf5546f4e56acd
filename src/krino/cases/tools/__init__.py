"""Files of other tools: recognised by the names of their fields, and read as cases. `docs/files.md` lists them."""
