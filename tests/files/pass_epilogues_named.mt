; An extent of the other operand that can only be 3 is not repeated along the product's 3.
;! input f32[3, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
;! input f32[2, 2] = [1.0, 0.5, -1.0, 2.0]
;! pass = epilogues, dead_code
;! print
func @main(v0: f32[v2, 2], v1: f32[2, 2]) {
  v2: index 3..=3 = extent_of v0 { axis = 0 }
  v3 = reshape v0 { shape = [3, 2] }
  v4 = matmul v3, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v5 = reshape v4 { shape = [1, 3, 2] }
  v6 = reshape v0 { shape = [1, v2, 2] }
  v7 = map v5, v6 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      return n2
    }
  }
  return v7
}

method "main" = @main {
  input "x"
  input "y"
  output "0"
}
;! ---
func @main(v0: f32[v2, 2], v1: f32[2, 2]) {
  v2: index 3..=3 = extent_of v0 { axis = 0 }
  v3: f32[3, 2] = reshape v0 { shape = [3, 2] }
  v4: f32[3, 2] = matmul v3, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v5: f32[1, v2, 2] = reshape v0 { shape = [1, v2, 2] }
  v6: f32[3, 2] = reshape v5 { shape = [3, 2] }
  v7: f32[3, 2] = map v4, v6 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      return n2
    }
  }
  v8: f32[1, 3, 2] = reshape v7 { shape = [1, 3, 2] }
  return v8
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
}
