; What convolutions and products read is read in halves where it is only widened, and moves so; a constant on the right is left, and what is more than widened.
;! input f16[1, 2, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
;! input bf16[1, 3, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! pass = narrow_movement, narrow_operands, dead_code
;! print
;! run
const0: f16[1, 2, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const1: f32[1, 1, 2] = [1.0, 2.0]
func @main(v0: f16[1, 2, 4], v1: bf16[1, 3, 4]) {
  v2 = map v0 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v3 = map v1 {
    expression = (bf16) {
      n0: bf16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v4 = constant { data = const0 }
  v5 = map v4 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v6 = map v1 {
    expression = (bf16) {
      n0: bf16 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v7 = matmul v2, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v8 = matmul v6, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v9 = transpose v2 { permutation = [0, 2, 1] }
  v10 = constant { data = const1 }
  v11 = conv v9, v10 { strides = [1], dilation = [1], padding_low = [0], padding_high = [0], positions = [], shift = [], input_dilation = [1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v7, v8, v11
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: f16[1, 2, 4] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
const1: f32[1, 1, 2] = [1.0, 2.0]
func @main(v0: f16[1, 2, 4], v1: bf16[1, 3, 4]) {
  v2: f16[1, 2, 4] = constant { data = const0 }
  v3: f32[1, 2, 4] = map v2 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v4: f32[1, 3, 4] = map v1 {
    expression = (bf16) {
      n0: bf16 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v5: f32[1, 2, 3] = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v6: f32[1, 3, 2] = matmul v4, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v7: f16[1, 4, 2] = transpose v0 { permutation = [0, 2, 1] }
  v8: f32[1, 1, 2] = constant { data = const1 }
  v9: f32[1, 4, 1] = conv v7, v8 { strides = [1], dilation = [1], padding_low = [0], padding_high = [0], positions = [], shift = [], input_dilation = [1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v5, v6, v9
}
method "main" = @main {
  input "x"
  input "y"
  output "0"
  output "1"
  output "2"
}
; f32[1, 2, 3] = [30.0, 70.0, 110.0, 70.0, 174.0, 278.0]
; f32[1, 3, 2] = [-30.0, -70.0, -70.0, -174.0, -110.0, -278.0]
; f32[1, 4, 1] = [11.0, 14.0, 17.0, 20.0]
