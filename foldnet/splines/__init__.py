"""Networks of one variable as splines: breakpoints, delta-slopes, and what random initialization makes of them."""
