"""The errors that the package raises, by the name under which users import them."""

from edrp.core.errors import *  # noqa: F403
