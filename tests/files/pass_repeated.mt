; Heads of queries that share keys and values: the product reads these where they are, in a batch of groups and heads. Left is what is repeated along a part of a dimension.
;! input f32[6, 1, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! input f32[1, 2, 3, 2] = [1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0, -8.0, 9.0, -10.0, 11.0, -12.0]
;! pass = simplify, dead_code
;! print
const0: f32[] = [0.5]
func @main(v0: f32[6, 1, 2], v1: f32[1, 2, 3, 2]) {
  v2 = reshape v1 { shape = [1, 2, 1, 3, 2] }
  v3 = broadcast v2 { shape = [1, 2, 3, 3, 2] }
  v4 = reshape v3 { shape = [6, 3, 2] }
  v5 "scores" = matmul v0, v4 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v6 = transpose v4 { permutation = [0, 2, 1] }
  v7 "values" = matmul v5, v6 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v8 "repeated rows" = matmul v4, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v9 = reshape v3 { shape = [2, 3, 3, 2] }
  v10 = reshape v9 { shape = [3, 2, 3, 2] }
  v11 = reshape v0 { shape = [3, 2, 1, 2] }
  v12 "counted in another way" = matmul v11, v10 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v13 = slice v0 { start = [0, 0, 0], size = [1, 1, 2], stride = [1, 1, 1] }
  v14 "one query" = matmul v13, v4 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v15 = reshape v3 { shape = [1, 6, 3, 2] }
  v16 = constant { data = const0 }
  v17 = map v15, v16 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  v18 = reshape v17 { shape = [6, 3, 2] }
  v19 "scaled keys" = matmul v0, v18 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v19, v5, v7, v8, v12, v14
}
method "main" = @main { input "q" input "k" output "0" output "1" output "2" output "3" output "4" output "5" }
;! ---
const0: f32[] = [0.5]
func @main(v0: f32[6, 1, 2], v1: f32[1, 2, 3, 2]) {
  v2: f32[1, 2, 1, 3, 2] = reshape v1 { shape = [1, 2, 1, 3, 2] }
  v3: f32[1, 2, 3, 3, 2] = broadcast v2 { shape = [1, 2, 3, 3, 2] }
  v4: f32[6, 3, 2] = reshape v3 { shape = [6, 3, 2] }
  v5: f32[1, 2, 1, 3, 2] = reshape v2 { shape = [1, 2, 1, 3, 2] }
  v6: f32[1, 2, 3, 1, 2] = reshape v0 { shape = [1, 2, 3, 1, 2] }
  v7: f32[1, 2, 3, 1, 3] = matmul v6, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v8: f32[6, 1, 3] "scores" = reshape v7 { shape = [6, 1, 3] }
  v9: f32[1, 2, 1, 3, 2] = reshape v2 { shape = [1, 2, 1, 3, 2] }
  v10: f32[1, 2, 1, 2, 3] = transpose v9 { permutation = [0, 1, 2, 4, 3] }
  v11: f32[1, 2, 3, 1, 3] = reshape v8 { shape = [1, 2, 3, 1, 3] }
  v12: f32[1, 2, 3, 1, 2] = matmul v11, v10 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v13: f32[6, 1, 2] "values" = reshape v12 { shape = [6, 1, 2] }
  v14: f32[1, 2, 1, 3, 2] = reshape v2 { shape = [1, 2, 1, 3, 2] }
  v15: f32[1, 2, 3, 1, 2] = reshape v0 { shape = [1, 2, 3, 1, 2] }
  v16: f32[1, 2, 3, 3, 1] = matmul v14, v15 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v17: f32[6, 3, 1] "repeated rows" = reshape v16 { shape = [6, 3, 1] }
  v18: f32[3, 2, 3, 2] = reshape v3 { shape = [3, 2, 3, 2] }
  v19: f32[3, 2, 1, 2] = reshape v0 { shape = [3, 2, 1, 2] }
  v20: f32[3, 2, 1, 3] "counted in another way" = matmul v19, v18 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v21: f32[1, 1, 2] = slice v0 { start = [0, 0, 0], size = [1, 1, 2], stride = [1, 1, 1] }
  v22: f32[6, 1, 3] "one query" = matmul v21, v4 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v23: f32[] = constant { data = const0 }
  v24: f32[1, 2, 1, 3, 2] = reshape v2 { shape = [1, 2, 1, 3, 2] }
  v25: f32[1, 2, 1, 3, 2] = map v24, v23 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  v26: f32[1, 2, 3, 1, 2] = reshape v0 { shape = [1, 2, 3, 1, 2] }
  v27: f32[1, 2, 3, 1, 3] = matmul v26, v25 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v28: f32[6, 1, 3] "scaled keys" = reshape v27 { shape = [6, 1, 3] }
  return v28, v8, v13, v17, v20, v22
}
method "main" = @main {
  input "q"
  input "k"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
