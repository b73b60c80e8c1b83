"""PNG of a drawing, rendered by resvg."""

from __future__ import annotations

from groundwire.errors import ConfigError


def draw_png(svg: str) -> bytes:
    """The drawing as a PNG file."""
    try:
        import resvg_py  # noqa: PLC0415  optional
    except ImportError:
        raise ConfigError(
            "PNG pictures need resvg: pip install 'groundwire[pictures]'; --svg works without it"
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg))
