; The rounding of float sums is left out of the text until it is decided.
;! print
func @main(v0: f32[2, 3], v1: f32[2, 3]) {
  v2 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32, accumulation = separate }
  v3 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32, accumulation = undecided }
  v4 = matmul v2, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
}
;! ---
func @main(v0: f32[2, 3], v1: f32[2, 3]) {
  v2: f32[2, 2] = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32, accumulation = separate }
  v3: f32[2, 2] = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v4: f32[2, 2] = matmul v2, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
}
