"""Weight files: read without running any code, and written."""
