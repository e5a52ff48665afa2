func @main(v0: f32[2, 3]) {
  v1: f32[2, 3] = transpose v0 { permutation = [1, 0] }
  return v1
}
;! ---
verify error: @main: inst0: v1 is f32[2, 3], the rule gives f32[3, 2]
