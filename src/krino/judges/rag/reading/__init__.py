"""What code reads from the texts of a case to the letter: sentences, words, values, refusals, questions, goals."""
