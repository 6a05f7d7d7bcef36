"""The vocabulary of the IR. Imports nothing else of tileopt."""
