"""What every target shares at run time: arrays, specialisation, the cache, streams and dispatch."""
