"""What code reads from the texts of a case to the letter: units of an answer, sentences, words, names, quotations.

Also frames, questions and goals, and where an answer differs from its reference. Values are read in `rag.values`.
"""
