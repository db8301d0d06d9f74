#! error E0104 2:11-2:17 "expected `catch` behind the block of `try`, found `except`" hint "the second block of a `try` is written catch m { ... }"
try { 1 } except { 2 }
