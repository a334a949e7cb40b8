"""Methods that search without proof, and the baselines that users run today."""
