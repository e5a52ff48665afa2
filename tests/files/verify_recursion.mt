func @a(v0: f32[2]) {
  v1: f32[2] = call v0 { function = @b }
  return v1
}
func @b(v0: f32[2]) {
  v1: f32[2] = call v0 { function = @a }
  return v1
}
;! ---
verify error: @a calls itself
