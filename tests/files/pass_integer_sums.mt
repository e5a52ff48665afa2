; Products of dequantized bytes are summed in integers: of a matrix, with a factor a column, and with a zero point known only when the program runs; a product of
; other floats is not.
;! input f32[2, 4] = [1.0, 2.0, -3.0, 4.0, 5.0, 6.0, 7.0, -8.0]
;! input f32[] = [0.5]
;! pass = maps, integer_sums, fold_constants, maps, dead_code
;! print
const0: i8[3, 4] = [1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12]
const1: f32[3, 1] = [0.5, 0.25, 2.0]
const2: i64[3, 1] = [0, 0, 0]
func @main(v0: f32[2, 4], v1: f32[]) {
  v2 = constant { data = const0 }
  v3 = constant { data = const1 }
  v4 = constant { data = const2 }
  v5: f32[3, 4] "weights" = map v2, v3, v4 {
    expression = (i8, f32, i64) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: i64 = input 2
      n3: f32 = convert n0
      n4: f32 = convert n2
      n5: f32 = sub n3, n4
      n6: f32 = mul n5, n1
      return n6
    }
  }
  v6: i8[2, 4] "bytes" = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  v7: f32[2, 4] "known zero" = map v6 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 3.0
      n3: f32 = sub n1, n2
      n4: f32 = constant 0.125
      n5: f32 = mul n3, n4
      return n5
    }
  }
  v8: i64[] "zero" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant -128.0
      n2: f32 = constant 127.0
      n3: f32 = max.first n0, n1
      n4: f32 = min.first n3, n2
      n5: i64 = convert n4
      return n5
    }
  }
  v9: f32[2, 4] "unknown zero" = map v6, v1, v8 {
    expression = (i8, f32, i64) {
      n0: i8 = input 0
      n1: f32 = input 1
      n2: i64 = input 2
      n3: f32 = convert n0
      n4: f32 = convert n2
      n5: f32 = sub n3, n4
      n6: f32 = mul n5, n1
      return n6
    }
  }
  v10 "integers" = matmul v7, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v11 "corrected" = matmul v9, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v12 "floats" = matmul v0, v5 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v10, v11, v12
}
method "main" = @main {
  input "x"
  input "scale"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: i8[3, 4] = [1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11, 12]
const1: f32[1, 3] = [0.0625, 0.03125, 0.25]
const2: f32[1, 3] = [0.5, 0.25, 2.0]
const3: i32[1, 3] = [10, 16, 20]
const4: f32[1, 3] = [0.5, 0.25, 2.0]
func @main(v0: f32[2, 4], v1: f32[]) {
  v2: i8[3, 4] = constant { data = const0 }
  v3: i8[2, 4] "bytes" = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  v4: i64[] "zero" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant -128.0
      n2: f32 = constant 127.0
      n3: f32 = max.first n0, n1
      n4: f32 = min.first n3, n2
      n5: i64 = convert n4
      return n5
    }
  }
  v5: i32[2, 3] = matmul v3, v2 { left_zero_point = 3, right_zero_point = 0, accumulator = i32 }
  v6: f32[1, 3] = constant { data = const1 }
  v7: f32[2, 3] "integers" = map v5, v6 {
    expression = (i32, f32) {
      n0: i32 = input 0
      n1: f32 = convert n0
      n2: f32 = input 1
      n3: f32 = mul n1, n2
      return n3
    }
  }
  v8: i32[2, 3] = matmul v3, v2 { left_zero_point = 0, right_zero_point = 0, accumulator = i32 }
  v9: f32[] = reshape v1 { shape = [] }
  v10: f32[1, 3] = constant { data = const2 }
  v11: i64[] = reshape v4 { shape = [] }
  v12: i32[1, 3] = constant { data = const3 }
  v13: f32[2, 3] "corrected" = map v8, v11, v12, v9, v10 {
    expression = (i32, i64, i32, f32, f32) {
      n0: i32 = input 0
      n1: i64 = input 1
      n2: i32 = input 2
      n3: i32 = convert n1
      n4: i32 = mul n3, n2
      n5: i32 = sub n0, n4
      n6: f32 = convert n5
      n7: f32 = input 3
      n8: f32 = input 4
      n9: f32 = mul n6, n7
      n10: f32 = mul n9, n8
      return n10
    }
  }
  v14: f32[3, 4] = map v2 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v15: f32[2, 3] = matmul v0, v14 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v16: f32[1, 3] = constant { data = const4 }
  v17: f32[2, 3] "floats" = map v15, v16 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  return v7, v13, v17
}
method "main" = @main {
  input "x"
  input "scale"
  output "0"
  output "1"
  output "2"
}
