"""What the end-to-end tests share: the program, its surfaces, projects to work on, leak checks."""
