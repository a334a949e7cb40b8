"""The ground floor, which every topic needs: documents, errors, files, parameters, programs, methods, solutions, `solve`."""
