"""What a training is, whoever carries it out: the problem and its checks, the losses, Adam's step, a captured step."""
