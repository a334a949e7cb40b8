"""Documents, problems and metrics of mapping stream tasks on servers and links, and their arrays for methods."""
