#! error E0404 2:1-2:36 "what is handed to this function of the library cannot print or draw random numbers"
root(x -> { print(x); x - 1 }, 3.0)
