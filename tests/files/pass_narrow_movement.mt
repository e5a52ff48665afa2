; Bytes move before they are widened and after they are narrowed: windows that pick the largest, borders and joins; a window that picks of falling floats is left.
;! input i8[1, 4, 1] = [-3, 7, 5, -1]
;! input f32[1, 4, 1] = [1.5, -2.5, 3.5, 0.0]
;! pass = narrow_movement, dead_code
;! print
func @main(v0: i8[1, 4, 1], v1: f32[1, 4, 1]) {
  v2: f32[1, 4, 1] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 1.0
      n3: f32 = sub n1, n2
      return n3
    }
  }
  v3: f32[1, 4, 1] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v4 "rising" = window v2 { reduction = max, summation = rows, size = [2], strides = [2], dilation = [1], padding_low = [1], padding_high = [1], positions = [], shift = [] }
  v5 "falling" = window v3 { reduction = max, summation = rows, size = [2], strides = [2], dilation = [1], padding_low = [0], padding_high = [0], positions = [], shift = [] }
  v6 "border" = pad v2 { low = [0, 1, 0], high = [0, 0, 0], value = f32 0.0, padded = [] }
  v7 "beside" = pad v2 { low = [0, 1, 0], high = [0, 0, 0], value = f32 0.5, padded = [] }
  v8 = concat v2, v1 { axis = 1, extent = [] }
  v9: i8[1, 8, 1] "join" = map v8 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  return v4, v5, v6, v7, v9
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
;! ---
func @main(v0: i8[1, 4, 1], v1: f32[1, 4, 1]) {
  v2: f32[1, 4, 1] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 1.0
      n3: f32 = sub n1, n2
      return n3
    }
  }
  v3: f32[1, 4, 1] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = neg n1
      return n2
    }
  }
  v4: i8[1, 3, 1] = window v0 { reduction = max, summation = rows, size = [2], strides = [2], dilation = [1], padding_low = [1], padding_high = [1], positions = [], shift = [] }
  v5: f32[1, 3, 1] "rising" = map v4 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 1.0
      n3: f32 = sub n1, n2
      return n3
    }
  }
  v6: f32[1, 2, 1] "falling" = window v3 { reduction = max, summation = rows, size = [2], strides = [2], dilation = [1], padding_low = [0], padding_high = [0], positions = [], shift = [] }
  v7: i8[1, 5, 1] = pad v0 { low = [0, 1, 0], high = [0, 0, 0], value = i8 1, padded = [] }
  v8: f32[1, 5, 1] "border" = map v7 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 1.0
      n3: f32 = sub n1, n2
      return n3
    }
  }
  v9: f32[1, 5, 1] "beside" = pad v2 { low = [0, 1, 0], high = [0, 0, 0], value = f32 0.5, padded = [] }
  v10: i8[1, 4, 1] = map v2 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  v11: i8[1, 4, 1] = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  v12: i8[1, 8, 1] "join" = concat v10, v11 { axis = 1, extent = [] }
  return v5, v6, v8, v9, v12
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
