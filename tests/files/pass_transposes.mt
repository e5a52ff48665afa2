; Two convolutions written for NCHW, with a bias, a padding and a residual in between: the inner transposes cancel.
;! input f32[1, 2, 2, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
;! pass = transposes, simplify, fold_constants, transposes, simplify, fold_constants, dead_code
;! print
const0: f32[2, 1, 1, 2] = [1.0, 0.5, -1.0, 0.25]
const1: f32[1, 2, 1, 1] = [3.0, -20.0]
const2: f32[] = [0.0]
func @main(v0: f32[1, 2, 2, 2]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 = constant { data = const2 }
  v4 = transpose v0 { permutation = [0, 2, 3, 1] }
  v5 = conv v4, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v6 = transpose v5 { permutation = [0, 3, 1, 2] }
  v7 = map v6, v2, v3 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = add n0, n1
      n4: f32 = max.propagate n3, n2
      return n4
    }
  }
  v8 = pad v7 { low = [0, 0, 1, 0], high = [0, 0, 0, 0], value = f32 0.0, padded = [] }
  v9 = transpose v8 { permutation = [0, 2, 3, 1] }
  v10 = conv v9, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v11 = transpose v10 { permutation = [0, 3, 1, 2] }
  v12 = reduce v11 { reduction = sum, axes = [2, 3] }
  v13 = reshape v12 { shape = [1, 2] }
  return v13
}
method "main" = @main {
  input "x"
  output "y"
}
;! ---
const0: f32[2, 1, 1, 2] = [1.0, 0.5, -1.0, 0.25]
const1: f32[] = [0.0]
const2: f32[1, 1, 1, 2] = [3.0, -20.0]
func @main(v0: f32[1, 2, 2, 2]) {
  v1: f32[2, 1, 1, 2] = constant { data = const0 }
  v2: f32[] = constant { data = const1 }
  v3: f32[1, 2, 2, 2] = transpose v0 { permutation = [0, 2, 3, 1] }
  v4: f32[1, 2, 2, 2] = conv v3, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5: f32[1, 1, 1, 2] = constant { data = const2 }
  v6: f32[1, 2, 2, 2] = map v4, v5, v2 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = add n0, n1
      n4: f32 = max.propagate n3, n2
      return n4
    }
  }
  v7: f32[1, 3, 2, 2] = conv v6, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v8: f32[1, 1, 1, 2] = reduce v7 { reduction = sum, axes = [1, 2] }
  v9: f32[1, 2] = reshape v8 { shape = [1, 2] }
  return v9
}
method "main" = @main {
  input "x"
  output "y"
}
