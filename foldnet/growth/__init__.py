"""Networks that add a neuron, and so a fold, where one is missing."""
