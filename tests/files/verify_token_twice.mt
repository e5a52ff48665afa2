state0 "s": f32[]
func @main(v0: effect) {
  v1, v2 = load_state v0 { state = state0 }
  v3, v4 = load_state v0 { state = state0 }
  return v2, v4, v3
}
;! ---
verify error: @main: the effect token v0 is used twice
