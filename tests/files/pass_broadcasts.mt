; The transpose of a broadcast is the broadcast of a transpose, a map of one that of a map, and a product of matrices broadcasts its operands itself.
;! input f32[2, 1, 2] = [1.0, 2.0, -3.0, 4.0]
;! input f32[3, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
;! pass = simplify, dead_code
;! print
const0: f32[1, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
const1: f16[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
func @main(v0: f32[2, 1, 2], v1: f32[3, 2]) {
  v2 = constant { data = const0 }
  v3 = broadcast v2 { shape = [2, 2, 3] }
  v4 = transpose v3 { permutation = [0, 2, 1] }
  v5 "of constants" = matmul v0, v4 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v6 = broadcast v1 { shape = [2, 3, 2] }
  v7 "of an input" = matmul v0, v6 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v8 = broadcast v0 { shape = [2, 4, 2] }
  v9 "stays broadcast" = matmul v8, v6 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v10 = broadcast v1 { shape = [2, 2, 3, 2] }
  v11 = reshape v10 { shape = [4, 3, 2] }
  v12 = broadcast v0 { shape = [2, 2, 1, 2] }
  v13 = reshape v12 { shape = [4, 1, 2] }
  v14 "counted in another way" = matmul v13, v11 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v15 = constant { data = const1 }
  v16 = broadcast v15 { shape = [2, 2, 3] }
  v17 = map v16 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v18 = transpose v17 { permutation = [0, 2, 1] }
  v19 "of widened constants" = matmul v0, v18 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v5, v7, v9, v14, v19
}
method "main" = @main { input "x" input "y" output "0" output "1" output "2" output "3" output "4" }
;! ---
const0: f32[1, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
const1: f16[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
func @main(v0: f32[2, 1, 2], v1: f32[3, 2]) {
  v2: f32[1, 2, 3] = constant { data = const0 }
  v3: f32[1, 3, 2] = transpose v2 { permutation = [0, 2, 1] }
  v4: f32[2, 1, 3] "of constants" = matmul v0, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v5: f32[2, 1, 3] "of an input" = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v6: f32[2, 4, 2] = broadcast v0 { shape = [2, 4, 2] }
  v7: f32[2, 4, 3] "stays broadcast" = matmul v6, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v8: f32[2, 2, 1, 2] = broadcast v0 { shape = [2, 2, 1, 2] }
  v9: f32[4, 1, 2] = reshape v8 { shape = [4, 1, 2] }
  v10: f32[4, 1, 3] "counted in another way" = matmul v9, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v11: f16[2, 3] = constant { data = const1 }
  v12: f32[2, 3] = map v11 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v13: f32[1, 2, 3] = reshape v12 { shape = [1, 2, 3] }
  v14: f32[1, 3, 2] = transpose v13 { permutation = [0, 2, 1] }
  v15: f32[2, 1, 3] "of widened constants" = matmul v0, v14 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4, v5, v7, v10, v15
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
}
