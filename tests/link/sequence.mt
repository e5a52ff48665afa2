func @main(v0: f32[v1, v2, 6]) {
  v1: index 1..=5 = extent_of v0 { axis = 0 }
  v2: index 1..=40 = extent_of v0 { axis = 1 }
  v3 = reshape v0 { shape = [v1, v2, 2, 3] }
  v4 = transpose v3 { permutation = [0, 2, 1, 3] }
  v5 = matmul v4, v4 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v6 = reduce v5 { reduction = max, axes = [3] }
  v7 = map v5, v6 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = exp n2
      return n3
    }
  }
  v8 = reduce v7 { reduction = sum, axes = [3] }
  v9 = map v7, v8 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = div n0, n1
      return n2
    }
  }
  v10 = transpose v3 { permutation = [0, 2, 3, 1] }
  v11 = matmul v9, v10 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v12 = transpose v11 { permutation = [0, 2, 1, 3] }
  v13 = reshape v12 { shape = [v1, v2, 6] }
  v14: index 1..=1 = index { value = 1 }
  v15 = index_binary v2, v14 { operation = sub }
  v16 = slice v13 { start = [0, v15, 0], size = [v1, 1, 6], stride = [1, 1, 1] }
  v17 = pad v16 { low = [0, 0, 1], high = [0, 0, 2], value = f32 7.0, padded = [] }
  v18 = slice v13 { start = [0, 0, 0], size = [v1, v15, 6], stride = [1, 1, 1] }
  v19 = reduce v13 { reduction = sum, axes = [1] }
  v20 = concat v13, v0 { axis = 2, extent = [] }
  v21 = index_binary v2, v2 { operation = add }
  v22 = concat v13, v0 { axis = 1, extent = [v21] }
  return v13, v17, v18, v19, v20, v5, v22
}
method "forward" = @main {
  input "x"
  output "y"
  output "last"
  output "others"
  output "sum"
  output "both"
  output "scores"
  output "joined"
}
