# lstm.dsl - loss and gradient of a small recurrent network (ADBench).
#
# The network predicts the next letter of a string. Every unit has its own gates
# and no connections to other units. The arguments are:
#
#     main   f64[layers, 2, 4, width]   weights and biases of four gates
#     extra  f64[3, width]              input weights, output weights and biases
#     state  f64[layers, 2, width]      hidden values and cells
#     text   f64[length, width]

gate(x) = 1/(1 + exp(-x))

cell(w, b, hidden, cell, x) = {
  forget = gate(x*w[0] + b[0])
  enter = gate(hidden*w[1] + b[1])
  leave = gate(x*w[2] + b[2])
  cell = cell*forget + enter*tanh(hidden*w[3] + b[3])
  (leave*tanh(cell), cell)
}

predict(main, extra, state, x) = {
  x = x*extra[0]
  for i in 0..len(main) {
    (hidden, c) = cell(main[i, 0], main[i, 1], state[i, 0], state[i, 1], x)
    state[i, 0] = hidden
    state[i, 1] = c
    x = hidden
  }
  (x*extra[1] + extra[2], state)
}

objective(main, extra, state, text) = {
  total = 0.0
  for t in 0..len(text) - 1 {
    (y, state) = predict(main, extra, state, text[t])
    total += sum(text[t + 1]*(y - log(sum(exp(y)) + 2)))
  }
  -total/((len(text) - 1)*len(text[0]))
}

step(main, extra, state, text) = {
  (value, (m, e)) = value_and_grad(((m, e)) -> objective(m, e, state, text))((main, extra))
  (value, m, e)
}
