func @main(v0: f32[2]) {
  return v0
}
method "main" = @main {
  input "x"
}
;! ---
verify error: method "main": presents 0 outputs, @main has 1
