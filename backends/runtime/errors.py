"""Errors of a launch, placed at the line outside tileopt that launched."""

from __future__ import annotations

from tileopt.dialects.diagnostics import LaunchError, OwnershipError, call_site


class LaunchOwnershipError(OwnershipError, LaunchError):
    """Arguments of one launch that break the kernel's ownership: an owned array that aliases, or is read-only."""


def launch_error(code: str, message: str, *, help: str | None = None) -> LaunchError:
    """A `launch/...` error at the place of the launch."""
    return LaunchError(f"launch/{code}", message, location=call_site(), help=help)


def ownership_error(code: str, message: str, *, help: str | None = None) -> LaunchOwnershipError:
    """An `ownership/...` error at the place of the launch."""
    return LaunchOwnershipError(f"ownership/{code}", message, location=call_site(), help=help)
