;! input f32[1, 4, 4, 2] = [0.5, -1.0, 2.0, 3.0, 1.0, 1.5, -2.5, 4.0, 0.25, 1.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.0, 7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, -1.0, -2.0, -3.0, -4.0, 0.0, 1.0]
;! input i8[1, 2, 2, 1] = [1, 2, 3, 4]
;! pass = simplify, dead_code
;! print
const0: i8[1, 2, 2, 1] = [1, -1, 2, 3]
const1: f32[2] = [1.0, 2.0]
func @main(v0: f32[1, 4, 4, 2], v1: i8[1, 2, 2, 1]) {
  v2 = reshape v0 { shape = [16, 2] }
  v3 "two reshapes" = reshape v2 { shape = [2, 16] }
  v4 = transpose v0 { permutation = [0, 3, 1, 2] }
  v5 = transpose v4 { permutation = [0, 2, 3, 1] }
  v6 = slice v5 { start = [0, 0, 0, 0], size = [1, 4, 4, 2], stride = [1, 1, 1, 1] }
  v7 "two slices" = slice v6 { start = [0, 3, 1, 0], size = [1, 2, 3, 2], stride = [1, -2, 1, 1] }
  v8 = slice v7 { start = [0, 1, 0, 1], size = [1, 1, 2, 1], stride = [1, 1, 2, 1] }
  v9 = transpose v8 { permutation = [3, 0, 1, 2] }
  v10 = pad v1 { low = [0, 1, 0, 0], high = [0, 0, 2, 0], value = i8 -3, padded = [] }
  v11 = constant { data = const0 }
  v12 "padded" = conv v10, v11 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  v13 "stays padded" = conv v10, v11 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  v14 = pad v1 { low = [0, 1, 1, 0], high = [0, 0, 0, 0], value = i8 -128, padded = [] }
  v15 = window v14 { reduction = max, summation = rows, size = [2, 2], strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }
  v16 = constant { data = const1 }
  v17 = broadcast v16 { shape = [1, 4, 4, 2] }
  v18, v19 = map v0, v17 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2, n1
    }
  }
  v20 "identity" = map v18 {
    expression = (f32) {
      n0: f32 = input 0
      return n0
    }
  }
  v21 = broadcast v20 { shape = [1, 4, 4, 2] }
  v22 = concat v21 { axis = 1, extent = [] }
  return v3, v9, v12, v13, v15, v22
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
;! ---
const0: i8[1, 2, 2, 1] = [1, -1, 2, 3]
const1: f32[2] = [1.0, 2.0]
func @main(v0: f32[1, 4, 4, 2], v1: i8[1, 2, 2, 1]) {
  v2: f32[2, 16] "two reshapes" = reshape v0 { shape = [2, 16] }
  v3: f32[1, 1, 2, 1] = slice v0 { start = [0, 1, 1, 1], size = [1, 1, 2, 1], stride = [1, -2, 2, 1] }
  v4: f32[1, 1, 1, 2] = reshape v3 { shape = [1, 1, 1, 2] }
  v5: i8[1, 3, 4, 1] = pad v1 { low = [0, 1, 0, 0], high = [0, 0, 2, 0], value = i8 -3, padded = [] }
  v6: i8[1, 2, 2, 1] = constant { data = const0 }
  v7: i32[1, 3, 3, 1] "padded" = conv v1, v6 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 0], padding_high = [1, 2], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -3, filter_zero_point = 0, accumulator = i32 }
  v8: i32[1, 3, 3, 1] "stays padded" = conv v5, v6 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  v9: i8[1, 2, 2, 1] = window v1 { reduction = max, summation = rows, size = [2, 2], strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [0, 0], positions = [], shift = [] }
  v10: f32[2] = constant { data = const1 }
  v11: f32[1, 4, 4, 2] "identity" = map v0, v10 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }
  }
  return v2, v4, v7, v8, v9, v11
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
