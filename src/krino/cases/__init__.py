"""Cases in: read records from files of many formats, one at a time, in a stable order."""
