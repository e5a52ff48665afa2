; Weights are stored as i8 with a scale an output channel; they are wanted channels last, and as a matrix.
;! input f32[1, 3, 3, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
;! input f32[2, 8] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
;! pass = computed_weights, dead_code
;! print
const0: i8[2, 2, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const1: f32[2, 1, 1, 1] = [0.5, 0.25]
func @main(v0: f32[1, 3, 3, 2], v1: f32[2, 8]) {
  v2 = constant { data = const0 }
  v3 = constant { data = const1 }
  v4 = map v2, v3 {
    expression = (i8, f32) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: f32 = convert n0
      n3: f32 = mul n2, n1
      return n3
    }
  }
  v5 = transpose v4 { permutation = [0, 2, 3, 1] }
  v6 = conv v0, v5 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v7 = map v2, v3 {
    expression = (i8, f32) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: f32 = convert n0
      n3: f32 = mul n2, n1
      return n3
    }
  }
  v8 "a scale of two channels does not follow" = reshape v7 { shape = [2, 8] }
  v9 = matmul v1, v8 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v10 = map v2 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v11 = reshape v10 { shape = [2, 8] }
  v12 = matmul v1, v11 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v6, v9, v12
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: i8[2, 2, 2, 2] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
const1: f32[2, 1, 1, 1] = [0.5, 0.25]
func @main(v0: f32[1, 3, 3, 2], v1: f32[2, 8]) {
  v2: i8[2, 2, 2, 2] = constant { data = const0 }
  v3: f32[2, 1, 1, 1] = constant { data = const1 }
  v4: i8[2, 2, 2, 2] = reshape v2 { shape = [2, 2, 2, 2] }
  v5: i8[2, 2, 2, 2] = transpose v4 { permutation = [0, 2, 3, 1] }
  v6: f32[2, 1, 1, 1] = reshape v3 { shape = [2, 1, 1, 1] }
  v7: f32[2, 1, 1, 1] = transpose v6 { permutation = [0, 2, 3, 1] }
  v8: f32[2, 2, 2, 2] = map v5, v7 {
    expression = (i8, f32) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: f32 = convert n0
      n3: f32 = mul n2, n1
      return n3
    }
  }
  v9: f32[1, 2, 2, 2] = conv v0, v8 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v10: f32[2, 2, 2, 2] = map v2, v3 {
    expression = (i8, f32) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: f32 = convert n0
      n3: f32 = mul n2, n1
      return n3
    }
  }
  v11: f32[2, 8] "a scale of two channels does not follow" = reshape v10 { shape = [2, 8] }
  v12: f32[2, 2] = matmul v1, v11 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v13: i8[2, 8] = reshape v2 { shape = [2, 8] }
  v14: f32[2, 8] = map v13 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v15: f32[2, 2] = matmul v1, v14 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v9, v12, v15
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
}
