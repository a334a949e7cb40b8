"""Stream tasks mapped on networks of servers (bi-modal networks, section 3.1), exactly."""
