"""Instructions for matrix products, one row of data each."""
