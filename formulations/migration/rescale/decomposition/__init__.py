"""Lower bounds of rescalings at any time: prices take a problem apart into one dynamic program for each operator."""
