"""The citation judge: was a cited Belgian decision matched to the right one?"""
