from typing import Any

def __getattr__(name: str) -> Any: ...  # each kernel says in its docstring what it does; types of arrays are checked when it is called
