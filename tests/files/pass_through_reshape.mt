; Two transposes that meet through a reshape are one, or none. One in front of a reshape that splits, or merges neighbours, comes after it.
;! input f32[1, 2, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! input f32[2, 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! input f32[1, 4, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
;! pass = transposes, simplify, dead_code
;! print
func @main(v0: f32[1, 2, 2, 3], v1: f32[2, 6], v2: f32[1, 4, 2]) {
  v3 = transpose v0 { permutation = [0, 3, 1, 2] }
  v4 = reshape v3 { shape = [1, 3, 4] }
  v5 "pixels in order" = transpose v4 { permutation = [0, 2, 1] }
  v6 = transpose v1 { permutation = [1, 0] }
  v7 = reshape v6 { shape = [2, 3, 2] }
  v8 "a dimension is cut" = transpose v7 { permutation = [1, 0, 2] }
  v9 = transpose v0 { permutation = [3, 1, 0, 2] }
  v10 = reshape v9 { shape = [6, 2] }
  v11 "dimensions stay whole" = transpose v10 { permutation = [1, 0] }
  v12 = transpose v0 { permutation = [1, 3, 2, 0] }
  v13 "read as it is" = reshape v12 { shape = [6, 2] }
  v14 = transpose v13 { permutation = [1, 0] }
  v15 = transpose v1 { permutation = [1, 0] }
  v16 = reshape v15 { shape = [4, 3] }
  v17 "factors of two dimensions" = transpose v16 { permutation = [1, 0] }
  v18 = transpose v2 { permutation = [0, 2, 1] }
  v19 "tokens as an image in planes" = reshape v18 { shape = [1, 2, 2, 2] }
  v20 = transpose v0 { permutation = [0, 3, 1, 2] }
  v21 "pixels are neighbours" = reshape v20 { shape = [1, 3, 4] }
  v22 = transpose v0 { permutation = [0, 3, 1, 2] }
  v23 "channels and rows are none" = reshape v22 { shape = [1, 6, 2] }
  return v5, v8, v11, v13, v14, v17, v19, v21, v23
}
method "main" = @main {
  input "x"
  input "y"
  input "tokens"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
  output "6"
  output "7"
  output "8"
}
;! ---
func @main(v0: f32[1, 2, 2, 3], v1: f32[2, 6], v2: f32[1, 4, 2]) {
  v3: f32[1, 4, 3] "pixels in order" = reshape v0 { shape = [1, 4, 3] }
  v4: f32[2, 2, 3] = reshape v1 { shape = [2, 2, 3] }
  v5: f32[3, 2, 2] "a dimension is cut" = transpose v4 { permutation = [2, 1, 0] }
  v6: f32[1, 2, 3, 2] = transpose v0 { permutation = [0, 2, 3, 1] }
  v7: f32[2, 6] "dimensions stay whole" = reshape v6 { shape = [2, 6] }
  v8: f32[2, 3, 2, 1] = transpose v0 { permutation = [1, 3, 2, 0] }
  v9: f32[6, 2] "read as it is" = reshape v8 { shape = [6, 2] }
  v10: f32[2, 6] = transpose v9 { permutation = [1, 0] }
  v11: f32[6, 2] = transpose v1 { permutation = [1, 0] }
  v12: f32[4, 3] = reshape v11 { shape = [4, 3] }
  v13: f32[3, 4] "factors of two dimensions" = transpose v12 { permutation = [1, 0] }
  v14: f32[1, 2, 2, 2] = reshape v2 { shape = [1, 2, 2, 2] }
  v15: f32[1, 2, 2, 2] "tokens as an image in planes" = transpose v14 { permutation = [0, 3, 1, 2] }
  v16: f32[1, 4, 3] = reshape v0 { shape = [1, 4, 3] }
  v17: f32[1, 3, 4] "pixels are neighbours" = transpose v16 { permutation = [0, 2, 1] }
  v18: f32[1, 3, 2, 2] = transpose v0 { permutation = [0, 3, 1, 2] }
  v19: f32[1, 6, 2] "channels and rows are none" = reshape v18 { shape = [1, 6, 2] }
  return v3, v5, v7, v9, v10, v13, v15, v17, v19
}
method "main" = @main {
  input "x"
  input "y"
  input "tokens"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
  output "6"
  output "7"
  output "8"
}
