"""What goes wrong and can be put right by the person at the keyboard."""


class CourseError(Exception):
    """Something that the person at the keyboard can put right; the message says what."""
