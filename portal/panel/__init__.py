"""The operator's own pages. What is somebody else's does not exist here, for staff neither."""
