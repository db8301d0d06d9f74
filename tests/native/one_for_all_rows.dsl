# A loop whose rows are the lanes of one vector carries an array shared by all
# rows, and reads it at a computed index. Its elements must stay scalars.
p = read_ir("fn @g(%2: f64[17, 1], %9: f64[17, 1], %56: f64[58, 16]) -> (f64[17, 1]) \{
  %60: i64[5] = broadcast 0 \{shape: [5], axes: []}
  %34: f64[58, 16] = broadcast 0.0 \{shape: [58, 16], axes: []}
  %61: f64[17, 1], %62: i64[5] = for 5, %2, %60 \{
    (%63: i64, %64: f64[17, 1], %65: i64[5]):
    %66: i64 = extent \{dim: 17}
    %67: i64 = mod %63, %66
    %68: f64 = reduce_sum %56 \{axes: [0, 1]}
    %70: f64[1] = broadcast %68 \{shape: [1], axes: []}
    %71: f64[17, 1] = scatter_set %64, %67, %70 \{axis: 0, batch: 0}
    %72: i64[5] = scatter_set %65, %63, %67 \{axis: 0, batch: 0}
    yield %71, %72
  }
  %100: f64[17, 1], %101: f64[58, 16] = for 5, %9, %34 \{
    (%102: i64, %103: f64[17, 1], %104: f64[58, 16]):
    %105: i64 = sub 4, %102
    %106: i64 = gather %62, %105 \{axis: 0, batch: 0}
    %107: f64[1] = gather %103, %106 \{axis: 0, batch: 0}
    %108: f64[1] = broadcast 0.0 \{shape: [1], axes: []}
    %109: f64[17, 1] = scatter_set %103, %106, %108 \{axis: 0, batch: 0}
    %110: f64 = reshape %107 \{shape: []}
    %112: f64[58, 16] = broadcast %110 \{shape: [58, 16], axes: []}
    %113: f64[58, 16] = add %104, %112
    yield %109, %113
  }
  %114: f64 = reduce_sum %101 \{axes: [0, 1]}
  return %100
}")
given = (ones(17, 1), reshape(1.0 + iota(17), 17, 1), ones(58, 16))
r = p(...given)
ravel(r)                            #> [0, 0, 0, 0, 0, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]
