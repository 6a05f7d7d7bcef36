"""Errors of a launch, placed at the line outside tileopt that launched."""

from __future__ import annotations

import os
import sys

from tileopt.dialects.diagnostics import LaunchError, Location, OwnershipError

_INSIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "")


class LaunchOwnershipError(OwnershipError, LaunchError):
    """Arguments of one launch that break the kernel's ownership: an owned array that aliases, or is read-only."""


def call_site() -> Location | None:
    """The innermost line on the stack that is not tileopt's own."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_INSIDE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Location(frame.f_code.co_filename, frame.f_lineno, 1)


def launch_error(code: str, message: str, *, help: str | None = None) -> LaunchError:
    """A `launch/...` error at the place of the launch."""
    return LaunchError(f"launch/{code}", message, location=call_site(), help=help)


def ownership_error(code: str, message: str, *, help: str | None = None) -> LaunchOwnershipError:
    """An `ownership/...` error at the place of the launch."""
    return LaunchOwnershipError(f"ownership/{code}", message, location=call_site(), help=help)
