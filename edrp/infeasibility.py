"""Why an instance is infeasible, in words."""
