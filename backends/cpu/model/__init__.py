"""The hardware as a functional model: threads that stop with requests, and what is done for them, in Python.

`machine` runs a launch's threads; each other file says what one family of ops does. Exact, and slow.
"""
