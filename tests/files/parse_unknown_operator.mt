func @main(v0: f32[2]) {
  v1 = frobnicate v0
  return v1
}
;! ---
parse error: 2:8: `frobnicate` is no operator
