const0: f32[3, 3, 3, 2] = [0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75, 0.5, -0.25, 1.0, 0.125, -0.5, 0.75]
const1: f32[2, 3] = [1.0, -1.0, 0.5, 0.25, 2.0, -0.5]
func @main(v0: f32[v2, 4, 4, 2], v1: f32[v2, 3]) {
  v2: index 1..=40 = extent_of v0 { axis = 0 }
  v3 = constant { data = const0 }
  v4 = conv v0, v3 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5 = reduce v4 { reduction = max, axes = [1, 2] }
  v6 = reshape v5 { shape = [v2, 3] }
  v7 = concat v6, v1 { axis = 1, extent = [] }
  v8 = slice v7 { start = [0, 1], size = [v2, 3], stride = [1, 2] }
  v9 = constant { data = const1 }
  v10 = matmul v8, v9 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v11 = transpose v8 { permutation = [0, 1] }
  return v10, v11, v1
}
method "main" = @main {
  input "x"
  input "extra"
  output "scores"
  output "picked"
  output "same"
}
