"""What single chapters of the book compute, one module a chapter."""
