"""Generated mapping and link allocation problems, and runs on bi-modal networks."""
