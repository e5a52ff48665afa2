; Unused results go, and a load without use; a store stays.
;! input f32[2] = [1.0, 2.0]
;! pass = dead_code
;! print
state0 "s": f32[2]
func @main(v0: f32[2], v1: effect) {
  v2, v3 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = exp n0
      n2: f32 = sin n0
      return n1, n2
    }
  }
  v4, v5 = load_state v1 { state = state0 }
  v6 = reshape v5 { shape = [1, 2] }
  v7 = store_state v4, v2 { state = state0 }
  return v7
}
method "main" = @main {
  input "x"
}
;! ---
state0 "s": f32[2]
func @main(v0: f32[2], v1: effect) {
  v2: f32[2] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = exp n0
      n2: f32 = sin n0
      return n1
    }
  }
  v3: effect, v4: f32[2] = load_state v1 { state = state0 }
  v5: effect = store_state v3, v2 { state = state0 }
  return v5
}
method "main" = @main {
  input "x"
}
