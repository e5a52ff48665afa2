; Taps that meet padding alone are cut off: those before and after a small image, those after it only. What meets an element stays, and so does a filter
; that is computed. So too for windows.
;! input f32[1, 2, 2, 1] = [1.0, 2.0, 3.0, 4.0]
;! input f32[1, 3, 3, 1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
;! pass = dead_taps, fold_constants, dead_code
;! print
const0: f32[1, 3, 3, 1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
func @main(v0: f32[1, 2, 2, 1], v1: f32[1, 3, 3, 1]) {
  v2 = constant { data = const0 }
  v3 "the middle alone" = conv v0, v2 { strides = [1, 1], dilation = [18, 18], padding_low = [18, 18], padding_high = [18, 18], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v4 "none before, one after" = conv v0, v2 { strides = [2, 1], dilation = [1, 2], padding_low = [0, 1], padding_high = [1, 3], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5 "all meet elements" = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v6 "between elements" = conv v0, v2 { strides = [1, 1], dilation = [1, 3], padding_low = [0, 2], padding_high = [0, 3], positions = [], shift = [], input_dilation = [2, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v7 "a computed filter" = conv v0, v1 { strides = [1, 1], dilation = [18, 18], padding_low = [18, 18], padding_high = [18, 18], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v8 "one window larger than the image" = window v0 { reduction = sum, summation = rows, size = [600, 5], strides = [600, 1], dilation = [1, 1], padding_low = [0, 3], padding_high = [598, 1], positions = [], shift = [] }
  return v3, v4, v5, v6, v7, v8
}
method "main" = @main { input "x" input "filter" output "0" output "1" output "2" output "3" output "4" output "5" }
;! ---
const0: f32[1, 3, 3, 1] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]
const1: f32[1, 1, 1, 1] = [5.0]
const2: f32[1, 2, 2, 1] = [1.0, 2.0, 4.0, 5.0]
const3: f32[1, 3, 2, 1] = [1.0, 2.0, 4.0, 5.0, 7.0, 8.0]
func @main(v0: f32[1, 2, 2, 1], v1: f32[1, 3, 3, 1]) {
  v2: f32[1, 3, 3, 1] = constant { data = const0 }
  v3: f32[1, 1, 1, 1] = constant { data = const1 }
  v4: f32[1, 2, 2, 1] "the middle alone" = conv v0, v3 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v5: f32[1, 2, 2, 1] = constant { data = const2 }
  v6: f32[1, 1, 2, 1] "none before, one after" = conv v0, v5 { strides = [2, 1], dilation = [1, 2], padding_low = [0, 1], padding_high = [0, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v7: f32[1, 2, 2, 1] "all meet elements" = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v8: f32[1, 3, 2, 1] = constant { data = const3 }
  v9: f32[1, 1, 1, 1] "between elements" = conv v0, v8 { strides = [1, 1], dilation = [1, 3], padding_low = [0, 2], padding_high = [0, 0], positions = [], shift = [], input_dilation = [2, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v10: f32[1, 2, 2, 1] "a computed filter" = conv v0, v1 { strides = [1, 1], dilation = [18, 18], padding_low = [18, 18], padding_high = [18, 18], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  v11: f32[1, 1, 2, 1] "one window larger than the image" = window v0 { reduction = sum, summation = rows, size = [2, 3], strides = [600, 1], dilation = [1, 1], padding_low = [0, 1], padding_high = [0, 1], positions = [], shift = [] }
  return v4, v6, v7, v9, v10, v11
}
method "main" = @main {
  input "x"
  input "filter"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
