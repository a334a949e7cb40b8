from typing import Any

def __getattr__(name: str) -> Any: ...  # docstrings say what kernels do; types of arrays are checked when they are called
