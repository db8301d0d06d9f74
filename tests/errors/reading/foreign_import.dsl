#! error E0104 2:8-2:13 "expected the end of the statement, found `numpy`" hint "a module is loaded by `use name`"
import numpy as np
