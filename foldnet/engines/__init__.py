"""The ways to carry out a training, behind one contract: `choice.Engine`."""
