"""The course: problem sets made from their instructors' sources, and submissions graded as the untrusted code they are."""
