; What adds one number to every byte is left out before a contraction: the zero point takes the number over, also with a border.
;! input u8[1, 3, 3, 1] = [0, 1, 127, 128, 129, 255, 7, 200, 64]
;! pass = shifted, dead_code
;! print
;! run
const0: i8[1, 2, 2, 1] = [3, -5, 7, 127]
const1: i8[2, 3] = [1, -2, 3, 4, 5, -128]
func @main(v0: u8[1, 3, 3, 1]) {
  v1: i8[1, 3, 3, 1] = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant -128
      n3: i32 = add n1, n2
      n4: i8 = convert n3
      return n4
    }
  }
  v2 = constant { data = const0 }
  v3: i32[1, 3, 3, 1] = conv v1, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = -1, filter_zero_point = 0, accumulator = i32 }
  v4: u8[3, 3] = reshape v0 { shape = [3, 3] }
  v5: i8[3, 3] = map v4 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant -128
      n3: i32 = add n1, n2
      n4: i8 = convert n3
      return n4
    }
  }
  v6 = constant { data = const1 }
  v7: i32[3, 2] = matmul v5, v6 { left_zero_point = 5, right_zero_point = 0, accumulator = i32 }
  v8: i8[1, 3, 3, 1] "half" = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 1
      n3: i32 = shr n1, n2
      n4: i8 = convert n3
      return n4
    }
  }
  v9: i32[1, 3, 3, 1] = conv v8, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  return v3, v7, v9
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: i8[1, 2, 2, 1] = [3, -5, 7, 127]
const1: i8[2, 3] = [1, -2, 3, 4, 5, -128]
func @main(v0: u8[1, 3, 3, 1]) {
  v1: i8[1, 2, 2, 1] = constant { data = const0 }
  v2: i32[1, 3, 3, 1] = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 127, filter_zero_point = 0, accumulator = i32 }
  v3: u8[3, 3] = reshape v0 { shape = [3, 3] }
  v4: i8[2, 3] = constant { data = const1 }
  v5: i32[3, 2] = matmul v3, v4 { left_zero_point = 133, right_zero_point = 0, accumulator = i32 }
  v6: i8[1, 3, 3, 1] "half" = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 1
      n3: i32 = shr n1, n2
      n4: i8 = convert n3
      return n4
    }
  }
  v7: i32[1, 3, 3, 1] = conv v6, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = i32 }
  return v2, v5, v7
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
; i32[1, 3, 3, 1] = [510, 15892, 896, 8424, -8124, -57, -725, 534, -189]
; i32[3, 2] = [113, -424, 369, -15656, -467, 8663]
; i32[1, 3, 3, 1] = [8576, 16262, 1078, 12593, 4321, 605, -491, 140, 96]
