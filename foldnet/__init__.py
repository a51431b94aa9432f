"""foldnet: how ReLU networks fold space. The package under the executable book of the same name.

Importing it does nothing else: no seeds, no styles, no downloads.
"""

from .nets import ReLUNet

__version__ = "1.0.0"
__all__ = ["ReLUNet", "__version__"]
