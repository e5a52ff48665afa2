; A row made of an image in planes times a matrix: the row is the image as it is, and the matrix has its columns in that order.
;! input f32[2, 2, 1, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! pass = flattened, fold_constants, dead_code
;! print
const0: f32[2, 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
const1: f32[2, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
func @main(v0: f32[2, 2, 1, 3]) {
  v1 = constant { data = const0 }
  v2 = transpose v0 { permutation = [0, 3, 1, 2] }
  v3 = reshape v2 { shape = [2, 6] }
  v4 "of an image" = matmul v3, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v5 = constant { data = const1 }
  v6 = transpose v0 { permutation = [3, 0, 1, 2] }
  v7 = reshape v6 { shape = [3, 4] }
  v8 "rows of several images" = matmul v7, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v9 = transpose v0 { permutation = [0, 3, 1, 2] }
  v10 "read as it is" = reshape v9 { shape = [2, 6] }
  v11 = matmul v10, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4, v8, v10, v11
}
method "main" = @main { input "x" output "0" output "1" output "2" output "3" }
;! ---
const0: f32[2, 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
const1: f32[2, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const2: f32[2, 6] = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0, 7.0, 9.0, 11.0, 8.0, 10.0, 12.0]
func @main(v0: f32[2, 2, 1, 3]) {
  v1: f32[2, 6] = constant { data = const0 }
  v2: f32[2, 6] = constant { data = const2 }
  v3: f32[2, 6] = reshape v0 { shape = [2, 6] }
  v4: f32[2, 2] "of an image" = matmul v3, v2 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v5: f32[2, 4] = constant { data = const1 }
  v6: f32[3, 2, 2, 1] = transpose v0 { permutation = [3, 0, 1, 2] }
  v7: f32[3, 4] = reshape v6 { shape = [3, 4] }
  v8: f32[3, 2] "rows of several images" = matmul v7, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v9: f32[2, 3, 2, 1] = transpose v0 { permutation = [0, 3, 1, 2] }
  v10: f32[2, 6] "read as it is" = reshape v9 { shape = [2, 6] }
  v11: f32[2, 2] = matmul v10, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4, v8, v10, v11
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
  output "3"
}
