"""What all tests share: property tests try the same examples in each run, and take the time that they need."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("tileopt", derandomize=True, deadline=None)
settings.load_profile("tileopt")
