func @main(v0: f32[2]) {
  v1: f32[2] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = clz n0
      return n1
    }
  }
  return v1
}
;! ---
verify error: @main: inst0: expression: n1: clz from [F32] to f32 is not defined
