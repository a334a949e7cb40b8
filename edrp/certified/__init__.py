"""Instances with the best decisions and bounds that are known, and the evidence of both."""
