"""Networks as folded sheets: linear pieces, decision boundaries and where they bend, polygons cut by lines."""
