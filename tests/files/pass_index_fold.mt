; The idiom of SHAPE, STRIDED_SLICE, PACK and RESHAPE on a tensor whose first extent is dynamic.
;! input f32[3, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! pass = index_fold, simplify, fold_constants, index_fold, dead_code
;! print
;! run
func @main(v0: f32[v1, 4]) {
  v1: index 1..=8 = extent_of v0 { axis = 0 }
  v2: index 4..=4 = extent_of v0 { axis = 1 }
  v3: i32[] = index_tensor v1 { element = i32 }
  v4: i32[1] = reshape v3 { shape = [1] }
  v5: i32[] = index_tensor v2 { element = i32 }
  v6: i32[1] = reshape v5 { shape = [1] }
  v7: i32[2] = concat v4, v6 { axis = 0, extent = [] }
  v8: i32[1] = slice v7 { start = [0], size = [1], stride = [1] }
  v9: i32[1] = slice v7 { start = [1], size = [1], stride = [1] }
  v10: index 0..=100 = index_load v8 { interval = 0..=100 }
  v11: index 0..=100 = index_load v9 { interval = 0..=100 }
  v12: index 2..=2 = index { value = 2 }
  v13: index 0..=50 = index_binary v11, v12 { operation = floordiv }
  v14: f32[v10, v13, 2] = reshape v0 { shape = [v10, v13, 2] }
  v15: index 0..=50 = extent_of v14 { axis = 1 }
  v16: i32[] = index_tensor v15 { element = i32 }
  return v14, v16
}
method "main" = @main {
  input "x"
  output "y"
  output "n"
}
;! ---
const0: i32[] = [2]
func @main(v0: f32[v1, 4]) {
  v1: index 1..=8 = extent_of v0 { axis = 0 }
  v2: f32[v1, 2, 2] = reshape v0 { shape = [v1, 2, 2] }
  v3: i32[] = constant { data = const0 }
  return v2, v3
}
method "main" = @main {
  input "x"
  output "y"
  output "n"
}
; f32[3, 2, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
; i32[] = [2]
