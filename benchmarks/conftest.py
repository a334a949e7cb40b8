"""The modules of this folder find one another under pytest as they do when one of them is run as a script."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
