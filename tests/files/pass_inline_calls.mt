; Calls and ifs with known conditions are inlined; a state is stored once, in order.
;! input f32[2] = [1.0, 2.0]
;! pass = inline_calls, dead_code
;! print
const0: bool[] = [true]
const1: bool[] = [false]
state0 "last": f32[2]
func @store(v0: f32[2], v1: effect) {
  v2 = store_state v1, v0 { state = state0 }
  return v2
}
func @double(v0: f32[2], v1: effect) {
  v2 "doubled" = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v3 = call v2, v1 { function = @store }
  return v2, v3
}
func @keep(v0: f32[2], v1: effect) {
  return v0, v1
}
func @main(v0: f32[2], v1: effect) {
  v2 = constant { data = const0 }
  v3 = constant { data = const1 }
  v4, v5 = if v2, v0, v1 { then = @double, otherwise = @keep }
  v6, v7 = if v3, v4, v5 { then = @double, otherwise = @keep }
  v8, v9 = load_state v7 { state = state0 }
  return v6, v9, v8
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
;! ---
state0 "last": f32[2]
func @store(v0: f32[2], v1: effect) {
  v2: effect = store_state v1, v0 { state = state0 }
  return v2
}
func @double(v0: f32[2], v1: effect) {
  v2: f32[2] "doubled" = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v3: effect = store_state v1, v2 { state = state0 }
  return v2, v3
}
func @keep(v0: f32[2], v1: effect) {
  return v0, v1
}
func @main(v0: f32[2], v1: effect) {
  v2: f32[2] "doubled" = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v3: effect = store_state v1, v2 { state = state0 }
  v4: effect, v5: f32[2] = load_state v3 { state = state0 }
  return v2, v5, v4
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
