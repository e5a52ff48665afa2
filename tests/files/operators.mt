; One instruction of each operator, with types left to the rules.
;! print
;! input f32[1, 4, 4, 2] = [0.5, -1.0, 2.0, 3.0, 1.0, 1.5, -2.5, 4.0, 0.25, 1.0, 1.0, 2.0, 3.0, -1.0, -2.0, 0.0, 7.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, -1.0, -2.0, -3.0, -4.0, 0.0, 1.0]
;! input i32[2] = [1, 0]
;! input bool[] = [true]
;! run
const0: f32[1, 2, 2, 2] = [1.0, 0.5, -1.0, 0.25, 2.0, 1e-7, -0.0, 3.5]
const1: i32[] = [3]
const2: f32[4, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const3: f32[33] = hex "000000000000803f0000004000004040000080400000a0400000c0400000e040000000410000104100002041000030410000404100005041000060410000704100008041000088410000904100009841000000420000204200004042000060420000804200008842000090420000984200000043000020430000404300006043000080ff"
state0 "counter": i32[]
state1 "cache": i32[] = const1
src0 = "main" 7 "CONV_2D" "conv/out\n\"quoted\""
func @double(v0: i32[]) {
  v1 = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = add n0, n0
      return n1
    }
  }
  return v1
}
func @"keep it"(v0: i32[]) {
  return v0
}
func @small(v0: i32[]) {
  v1 = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 40
      n2: bool = lt n0, n1
      return n2
    }
  }
  return v1
}
func @main(v0: f32[1, 4, 4, 2] "input", v1: i32[2], v2: bool[], v3: effect) {
  v4 = constant { data = const0 }
  v5 "conv" = conv v0, v4 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 } @ src0
  v6 = window v0 { reduction = max, summation = rows, size = [2, 2], strides = [2, 2], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }
  v7 = reduce v0 { reduction = sum, axes = [1, 2] }
  v8 = arg_reduce v7 { search = min, axis = 3, element = i32 }
  v9 = reshape v6 { shape = [4, 2] }
  v10 = constant { data = const2 }
  v11 = matmul v9, v10 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v12 = transpose v11 { permutation = [1, 0] }
  v13 = broadcast v12 { shape = [2, 4, 4] }
  v14 = slice v13 { start = [0, 3, 0], size = [1, 2, 4], stride = [1, -2, 1] }
  v15 = pad v14 { low = [0, 1, -1], high = [0, 0, 0], value = f32 0.5, padded = [] }
  v16 = mirror_pad v15 { low = [0, 1, 0], high = [0, 0, 2], edge = false, padded = [] }
  v17 = concat v16, v16 { axis = 0, extent = [] }
  v18 = gather v17, v1 { axis = 0, batch = 0 }
  v19 = iota { shape = [2, 3], axis = 1, element = i16 }
  v20 = extent_of v18 { axis = 2 }
  v21 = index { value = 2 }
  v22 = index_binary v20, v21 { operation = floordiv }
  v23 = index_tensor v22 { element = i32 }
  v24 = index_load v23 { interval = 0..=9 }
  v25 = iota { shape = [v24], axis = 0, element = f64 }
  v26 = if v2, v23 { then = @double, otherwise = @"keep it" }
  v27, v28 = load_state v3 { state = state1 }
  v29 = map v28, v26 {
    expression = (i32, i32) {
      n0: i32 = input 0
      n1: i32 = input 1
      n2: i32 = add n0, n1
      return n2
    }
  }
  v30 = store_state v27, v29 { state = state0 }
  v31 = while v23 { condition = @small, body = @double }
  v32 = call v31 { function = @double }
  v33 = constant { data = const3 }
  v34 = scatter v17, v1, v18 { axis = 0, batch = 0, combination = sum, skips_negative = true }
  v35 = scan v34 { reduction = max, axis = 2, exclusive = true, reverse = true }
  v36, v37 = top_k v34 { order = smallest, count = [2] }
  v38 = reshape v0 { shape = [8, 4] }
  v39 = reshape v7 { shape = [2] }
  v40 = slice v39 { start = [0], size = [1], stride = [1] }
  v41 = gather v38, v1 { axis = 1, batch = 0 }
  v42 = transpose v41 { permutation = [1, 0] }
  v43, v44, v45 = non_max_suppression v38, v42, v40, v40, v40 { count = 3 }
  return v5, v7, v8, v18, v19, v25, v29, v32, v33, v34, v35, v36, v37, v43, v44, v45, v30
}
method "main" = @main {
  input "x" scales [0.5] zero_points [-3] axis 0
  input "i" scalar
  input "c" source 4
  output "0" order [0, 3, 1, 2]
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
  output "6"
  output "7"
  output "8"
  output "9"
  output "10"
  output "11"
  output "12"
  output "13"
  output "14"
  output "15"
}
plan {
  areas @main [0, 4096] {
    @main v5 [1, 0, 128]
  }
}
;! ---
const0: f32[1, 2, 2, 2] = [1.0, 0.5, -1.0, 0.25, 2.0, 1e-7, -0.0, 3.5]
const1: i32[] = [3]
const2: f32[4, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const3: f32[33] = hex "000000000000803f0000004000004040000080400000a0400000c0400000e040000000410000104100002041000030410000404100005041000060410000704100008041000088410000904100009841000000420000204200004042000060420000804200008842000090420000984200000043000020430000404300006043000080ff"
state0 "counter": i32[]
state1 "cache": i32[] = const1
src0 = "main" 7 "CONV_2D" "conv/out\n\"quoted\""
func @double(v0: i32[]) {
  v1: i32[] = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = add n0, n0
      return n1
    }
  }
  return v1
}
func @"keep it"(v0: i32[]) {
  return v0
}
func @small(v0: i32[]) {
  v1: bool[] = map v0 {
    expression = (i32) {
      n0: i32 = input 0
      n1: i32 = constant 40
      n2: bool = lt n0, n1
      return n2
    }
  }
  return v1
}
func @main(v0: f32[1, 4, 4, 2] "input", v1: i32[2], v2: bool[], v3: effect) {
  v4: f32[1, 2, 2, 2] = constant { data = const0 }
  v5: f32[1, 4, 4, 1] "conv" = conv v0, v4 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 } @ src0
  v6: f32[1, 2, 2, 2] = window v0 { reduction = max, summation = rows, size = [2, 2], strides = [2, 2], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }
  v7: f32[1, 1, 1, 2] = reduce v0 { reduction = sum, axes = [1, 2] }
  v8: i32[1, 1, 1, 1] = arg_reduce v7 { search = min, axis = 3, element = i32 }
  v9: f32[4, 2] = reshape v6 { shape = [4, 2] }
  v10: f32[4, 2] = constant { data = const2 }
  v11: f32[4, 4] = matmul v9, v10 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v12: f32[4, 4] = transpose v11 { permutation = [1, 0] }
  v13: f32[2, 4, 4] = broadcast v12 { shape = [2, 4, 4] }
  v14: f32[1, 2, 4] = slice v13 { start = [0, 3, 0], size = [1, 2, 4], stride = [1, -2, 1] }
  v15: f32[1, 3, 3] = pad v14 { low = [0, 1, -1], high = [0, 0, 0], value = f32 0.5, padded = [] }
  v16: f32[1, 4, 5] = mirror_pad v15 { low = [0, 1, 0], high = [0, 0, 2], edge = false, padded = [] }
  v17: f32[2, 4, 5] = concat v16, v16 { axis = 0, extent = [] }
  v18: f32[2, 4, 5] = gather v17, v1 { axis = 0, batch = 0 }
  v19: i16[2, 3] = iota { shape = [2, 3], axis = 1, element = i16 }
  v20: index 5..=5 = extent_of v18 { axis = 2 }
  v21: index 2..=2 = index { value = 2 }
  v22: index 2..=2 = index_binary v20, v21 { operation = floordiv }
  v23: i32[] = index_tensor v22 { element = i32 }
  v24: index 0..=9 = index_load v23 { interval = 0..=9 }
  v25: f64[v24] = iota { shape = [v24], axis = 0, element = f64 }
  v26: i32[] = if v2, v23 { then = @double, otherwise = @"keep it" }
  v27: effect, v28: i32[] = load_state v3 { state = state1 }
  v29: i32[] = map v28, v26 {
    expression = (i32, i32) {
      n0: i32 = input 0
      n1: i32 = input 1
      n2: i32 = add n0, n1
      return n2
    }
  }
  v30: effect = store_state v27, v29 { state = state0 }
  v31: i32[] = while v23 { condition = @small, body = @double }
  v32: i32[] = call v31 { function = @double }
  v33: f32[33] = constant { data = const3 }
  v34: f32[2, 4, 5] = scatter v17, v1, v18 { axis = 0, batch = 0, combination = sum, skips_negative = true }
  v35: f32[2, 4, 5] = scan v34 { reduction = max, axis = 2, exclusive = true, reverse = true }
  v36: f32[2, 4, 2], v37: i32[2, 4, 2] = top_k v34 { order = smallest, count = [2] }
  v38: f32[8, 4] = reshape v0 { shape = [8, 4] }
  v39: f32[2] = reshape v7 { shape = [2] }
  v40: f32[1] = slice v39 { start = [0], size = [1], stride = [1] }
  v41: f32[8, 2] = gather v38, v1 { axis = 1, batch = 0 }
  v42: f32[2, 8] = transpose v41 { permutation = [1, 0] }
  v43: i32[2, 3], v44: f32[2, 3], v45: i32[2] = non_max_suppression v38, v42, v40, v40, v40 { count = 3 }
  return v5, v7, v8, v18, v19, v25, v29, v32, v33, v34, v35, v36, v37, v43, v44, v45, v30
}
method "main" = @main {
  input "x" scales [0.5] zero_points [-3] axis 0
  input "i" scalar
  input "c" source 4
  output "0" order [0, 3, 1, 2]
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
  output "6"
  output "7"
  output "8"
  output "9"
  output "10"
  output "11"
  output "12"
  output "13"
  output "14"
  output "15"
}
plan {
  areas @main [0, 4096] {
    @main v5 [1, 0, 128]
  }
}
; f32[1, 4, 4, 1] = [6.25, 1.375, 11.25, -4.5, 24.75, 20.25, 37.0, 10.000001, 15.25, -15.25, -0.25000048, 9.5, 13.0, 0.0, -4.75, 0.5]
; f32[1, 1, 1, 2] = [26.25, 29.5]
; i32[1, 1, 1, 1] = [0]
; f32[2, 4, 5] = hex "00005442000000430000c44200000043000054420000003f0000003f0000003f0000003f0000003f00005442000000430000c44200000043000054420000c8410000704200003842000070420000c84100005442000000430000c44200000043000054420000003f0000003f0000003f0000003f0000003f00005442000000430000c44200000043000054420000c8410000704200003842000070420000c841"
; i16[2, 3] = [0, 1, 2, 0, 1, 2]
; f64[2] = [0.0, 1.0]
; i32[] = [7]
; i32[] = [128]
; f32[33] = hex "000000000000803f0000004000004040000080400000a0400000c0400000e040000000410000104100002041000030410000404100005041000060410000704100008041000088410000904100009841000000420000204200004042000060420000804200008842000090420000984200000043000020430000404300006043000080ff"
; f32[2, 4, 5] = hex "0000d4420000804300004443000080430000d4420000803f0000803f0000803f0000803f0000803f0000d4420000804300004443000080430000d442000048420000f0420000b8420000f042000048420000d4420000804300004443000080430000d4420000803f0000803f0000803f0000803f0000803f0000d4420000804300004443000080430000d442000048420000f0420000b8420000f04200004842"
; f32[2, 4, 5] = hex "0000804300008043000080430000d442000080ff0000803f0000803f0000803f0000803f000080ff0000804300008043000080430000d442000080ff0000f0420000f0420000f04200004842000080ff0000804300008043000080430000d442000080ff0000803f0000803f0000803f0000803f000080ff0000804300008043000080430000d442000080ff0000f0420000f0420000f04200004842000080ff"
; f32[2, 4, 2] = [106.0, 106.0, 1.0, 1.0, 106.0, 106.0, 50.0, 50.0, 106.0, 106.0, 1.0, 1.0, 106.0, 106.0, 50.0, 50.0]
; i32[2, 4, 2] = [0, 4, 0, 1, 0, 4, 0, 4, 0, 4, 0, 1, 0, 4, 0, 4]
; i32[2, 3] = [0, 0, 0, 0, 0, 0]
; f32[2, 3] = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
; i32[2] = [0, 0]
