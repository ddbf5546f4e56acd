"""The citation judge: did a matcher find the Belgian decision that a text cites, and did it earn its confidence?"""
