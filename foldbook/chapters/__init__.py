"""What single chapters compute beyond the package: one module a chapter, named as its page."""
