"""Exact geometry of ordinary torch modules: piecewise linear ones, with convolutions, residual sums and pooling."""
