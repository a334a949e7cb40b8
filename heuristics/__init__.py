"""Methods that search instead of prove, and the baselines that they have to beat."""
