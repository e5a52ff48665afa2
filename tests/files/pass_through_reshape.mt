; Two transposes that meet through a reshape are one, or none.
;! input f32[1, 2, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! input f32[2, 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! pass = simplify, dead_code
;! print
func @main(v0: f32[1, 2, 2, 3], v1: f32[2, 6]) {
  v2 = transpose v0 { permutation = [0, 3, 1, 2] }
  v3 = reshape v2 { shape = [1, 3, 4] }
  v4 "pixels in order" = transpose v3 { permutation = [0, 2, 1] }
  v5 = transpose v1 { permutation = [1, 0] }
  v6 = reshape v5 { shape = [2, 3, 2] }
  v7 "a dimension is cut" = transpose v6 { permutation = [1, 0, 2] }
  v8 = transpose v0 { permutation = [3, 1, 0, 2] }
  v9 = reshape v8 { shape = [6, 2] }
  v10 "dimensions stay whole" = transpose v9 { permutation = [1, 0] }
  v11 = transpose v0 { permutation = [1, 3, 2, 0] }
  v12 "read as it is" = reshape v11 { shape = [6, 2] }
  v13 = transpose v12 { permutation = [1, 0] }
  v14 = transpose v1 { permutation = [1, 0] }
  v15 = reshape v14 { shape = [4, 3] }
  v16 "factors of two dimensions" = transpose v15 { permutation = [1, 0] }
  return v4, v7, v10, v12, v13, v16
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
func @main(v0: f32[1, 2, 2, 3], v1: f32[2, 6]) {
  v2: f32[1, 4, 3] "pixels in order" = reshape v0 { shape = [1, 4, 3] }
  v3: f32[2, 2, 3] = reshape v1 { shape = [2, 2, 3] }
  v4: f32[3, 2, 2] = transpose v3 { permutation = [2, 1, 0] }
  v5: f32[3, 2, 2] "a dimension is cut" = reshape v4 { shape = [3, 2, 2] }
  v6: f32[1, 2, 3, 2] = transpose v0 { permutation = [0, 2, 3, 1] }
  v7: f32[2, 6] "dimensions stay whole" = reshape v6 { shape = [2, 6] }
  v8: f32[2, 3, 2, 1] = transpose v0 { permutation = [1, 3, 2, 0] }
  v9: f32[6, 2] "read as it is" = reshape v8 { shape = [6, 2] }
  v10: f32[2, 6] = transpose v9 { permutation = [1, 0] }
  v11: f32[6, 2] = transpose v1 { permutation = [1, 0] }
  v12: f32[4, 3] = reshape v11 { shape = [4, 3] }
  v13: f32[3, 4] "factors of two dimensions" = transpose v12 { permutation = [1, 0] }
  return v2, v5, v7, v9, v10, v13
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
