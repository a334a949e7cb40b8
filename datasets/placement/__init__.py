"""Applications, networks and clusters from papers and from production."""
