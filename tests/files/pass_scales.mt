; A depthwise convolution of one tap is a product a channel; one of two taps or with padding is not.
;! input f32[1, 2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
;! pass = scales, dead_code
;! print
const0: f32[2, 1, 1, 1] = [0.5, 0.25]
const1: f32[2, 2, 1, 1] = [0.5, 0.25, 1.0, 2.0]
func @main(v0: f32[1, 2, 1, 2]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 "one tap" = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v4 "two taps" = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5 "padded" = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v3, v4, v5
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: f32[2, 1, 1, 1] = [0.5, 0.25]
const1: f32[2, 2, 1, 1] = [0.5, 0.25, 1.0, 2.0]
func @main(v0: f32[1, 2, 1, 2]) {
  v1: f32[2, 1, 1, 1] = constant { data = const0 }
  v2: f32[2, 2, 1, 1] = constant { data = const1 }
  v3: f32[2] = reshape v1 { shape = [2] }
  v4: f32[1, 2, 1, 2] "one tap" = map v0, v3 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      n3: f32 = constant 0.0
      n4: f32 = add n3, n2
      return n4
    }
  }
  v5: f32[1, 1, 1, 2] "two taps" = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v6: f32[1, 3, 1, 2] "padded" = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 2, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v4, v5, v6
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
