#! error E0703 10:1 "1000 steps are used up on the way to t = 100" hint "such short steps mostly say that the right-hand side jumps there, back and forth: make the place of the jump an event, or smooth it"
problem stiff() {
  domain t in [0, 100]
  field u, v
  u_t == -1e6*(u - cos(v))
  v_t == 1
  u == 2 at t = 0
  v == 0 at t = 0
}
solve(stiff(), adams(max_steps = 1000))
