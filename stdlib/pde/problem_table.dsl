# problem_table.dsl - summary table of a problem for explain: its type, orders,
# and the conditions of each face.

# Returns the summary of a problem with space coordinates: type, equations,
# orders of each unknown, and the conditions at each end.
_explain_statement(info) = {
  type = if info.type == "" { "" } else { "{info.type}, " }
  n = len(info.fields) - (if info.eigen == "" { 0 } else { 1 })
  names =
    join(map(k -> if info.sizes[k] ==
      0 { info.fields[k] } else { "{info.fields[k]}[{info.sizes[k]}]" }, each(n)),
      ", ")
  of = if info.eigen == "" { "" } else { " and the eigenvalue {info.eigen}" }
  out = list("{info.name}: {type}{names}{of} in {join(info.coords, ", ")}")
  for k in each(n) { out = push(out, "  order of {info.fields[k]}: {_orders_said(info, k)}") }
  for c in each(len(info.coords)) {
    name = info.coords[c]
    if info.periodic[c] { out = push(out, "  {name}: periodic") } else {
      for side in (0, 1) {
        said = _conditions_said(info, a -> a.coord == c and a.side == side)
        end = if side == 0 { info.lo[c] } else { info.hi[c] }
        if said != "" or (c != info.time and not _in_region(info, c)) {
          out = push(out, "  {name} = {end}: {if said == "" { "-" } else { said }}")
        }
      }
    }
  }
  parts = list()
  for c in info.conditions {
    if c.at.coord < 0 and c.at.name != "" and not contains(parts, c.at.name) {
      parts = push(parts, c.at.name)
    }
  }
  for part in parts {
    out = push(out, "  {part}: {_conditions_said(info, a -> a.coord < 0 and a.name == part)}")
  }
  points = _conditions_said(info, a -> kind(a.point) != "none")
  if points != "" { out = push(out, "  at a point: {points}") }
  join(out, "\n")
}

# Whether the region covers coordinate c, so that no condition can be at its
# ends.
_in_region(info, c) =
  kind(info.region) != "none" and (len(info.region.lo) == len(info.space) or not _has_face(info, c))
_has_face(info, c) = {
  found = false
  for q in info.conditions { found = found or q.at.coord == c }
  found
}

# Returns a string such as "1 in t, 2 in x and y".
_orders_said(info, field) = {
  out = list()
  for c in each(len(info.coords)) {
    top = 0
    for q in info.equations {
      for j in q.jets { if info.jets[j][0] == field { top = max(top, info.jets[j][c + 1]) } }
    }
    if top > 0 { out = push(out, "{top} in {info.coords[c]}") }
  }
  if len(out) == 0 { "0" } else { join(out, ", ") }
}

# Returns the conditions at a location, without their `at` parts.
_conditions_said(info, here) = {
  out = list()
  for c in info.conditions {
    if here(c.at) {
      text = replace(c.text, "\n", " ")
      cut = find(text, " at ")
      out = push(out, trim(if cut < 0 { text } else { text[..cut] }))
    }
  }
  join(out, "; ")
}
