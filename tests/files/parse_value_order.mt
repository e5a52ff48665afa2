func @main(v0: f32[2]) {
  v2 = reshape v0 { shape = [2] }
  return v2
}
;! ---
parse error: 2:3: numbers must be in order: expected `v1`
