; A cache of halves is read as it is. One that is more than widened stays, and one beside a wide one.
;! input f32[1, 2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
;! input f16[1, 3, 1, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
;! input f16[1, 3, 1, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
;! input f32[1, 3, 1, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
;! pass = narrow_operands, dead_code
;! print
func @main(v0: f32[1, 2, 1, 2], v1: f16[1, 3, 1, 2], v2: f16[1, 3, 1, 2], v3: f32[1, 3, 1, 2]) {
  v4 = map v1 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v5 = map v2 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v6 = map v2 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v7 = attention v0, v4, v5 { scale = f32 0.5, keys = [3], causal_from = [1] }
  v8 = attention v0, v4, v6 { scale = f32 0.5, keys = [3], causal_from = [1] }
  v9 = attention v0, v4, v3 { scale = f32 0.5, keys = [3], causal_from = [1] }
  return v7, v8, v9
}
method "main" = @main {
  input "query"
  input "keys"
  input "values"
  input "wide values"
  output "0"
  output "1"
  output "2"
}
;! ---
func @main(v0: f32[1, 2, 1, 2], v1: f16[1, 3, 1, 2], v2: f16[1, 3, 1, 2], v3: f32[1, 3, 1, 2]) {
  v4: f32[1, 3, 1, 2] = map v1 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v5: f32[1, 3, 1, 2] = map v2 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v6: f32[1, 2, 1, 2] = attention v0, v1, v2 { scale = f32 0.5, keys = [3], causal_from = [1] }
  v7: f32[1, 2, 1, 2] = attention v0, v4, v5 { scale = f32 0.5, keys = [3], causal_from = [1] }
  v8: f32[1, 2, 1, 2] = attention v0, v4, v3 { scale = f32 0.5, keys = [3], causal_from = [1] }
  return v6, v7, v8
}
method "main" = @main {
  input "query"
  input "keys"
  input "values"
  input "wide values"
  output "0"
  output "1"
  output "2"
}
