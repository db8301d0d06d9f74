#! error E0801 2:1-2:74 "cells in a vector need `offsets`"
save("/tmp/atled-errors-data.vtu", (points = ones(2, 3), cells = [0, 2]))
