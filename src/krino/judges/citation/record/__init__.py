"""Reads the record that a matcher's system wrote into the fields of a citation case."""
