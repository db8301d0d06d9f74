#! error E0104 2:6-2:9 "`...` collects named arguments: it stands behind `;`" hint "f(x; ...options)"
f(x, ...o) = x
