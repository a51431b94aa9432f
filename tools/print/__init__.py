"""The book on paper: the stories as a print edition, and a report to cite. It needs what requirements-print.txt pins."""
