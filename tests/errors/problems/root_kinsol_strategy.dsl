#! error E0505 2:21-2:49 "kinsol has the strategies newton, linesearch, picard, not broyden"
root(x -> x, [1.0], kinsol(strategy = "broyden"))
