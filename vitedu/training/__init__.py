"""One loop, for one process or many, that resumes exactly."""
