; Work on a reshaped product is done before the reshape, with bias and residual in that shape. Left are a product that others read, and a map whose operand is repeated along a part of a dimension.
;! input f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
;! input f32[1, 2, 2] = [10.0, 20.0, 30.0, 40.0]
;! input f32[2] = [0.5, -0.5]
;! pass = epilogues, dead_code, epilogues, dead_code
;! print
func @main(v0: f32[2, 2], v1: f32[1, 2, 2], v2: f32[2]) {
  v3 = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v4 = reshape v3 { shape = [1, 2, 2] }
  v5 "residual" = map v4, v1, v2 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = add n0, n2
      n4: f32 = add n3, n1
      return n4
    }
  }
  v6 = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v7 = reshape v6 { shape = [1, 2, 2] }
  v8 "read twice" = map v7 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v9 = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v10 = reshape v9 { shape = [2, 2, 1] }
  v11 = reshape v2 { shape = [2, 1, 1] }
  v12 "a number a row" = map v10, v11 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  v13 = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v14 = reshape v13 { shape = [2, 1, 2, 1] }
  v15 = map v14 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v16 "twice" = map v15 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = abs n0
      return n1
    }
  }
  v17 = reshape v0 { shape = [4, 1] }
  v18 = reshape v2 { shape = [2, 1] }
  v19 = matmul v17, v18 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v20 = reshape v19 { shape = [2, 2, 2] }
  v21 = reshape v1 { shape = [2, 1, 2] }
  v22 "repeated in part" = map v20, v21 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }
  }
  return v5, v7, v8, v12, v16, v22
}
method "main" = @main {
  input "x"
  input "y"
  input "z"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
;! ---
func @main(v0: f32[2, 2], v1: f32[1, 2, 2], v2: f32[2]) {
  v3: f32[2, 2] = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v4: f32[2, 2] = reshape v1 { shape = [2, 2] }
  v5: f32[1, 2] = reshape v2 { shape = [1, 2] }
  v6: f32[2, 2] = map v3, v4, v5 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = add n0, n2
      n4: f32 = add n3, n1
      return n4
    }
  }
  v7: f32[1, 2, 2] "residual" = reshape v6 { shape = [1, 2, 2] }
  v8: f32[2, 2] = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v9: f32[1, 2, 2] = reshape v8 { shape = [1, 2, 2] }
  v10: f32[1, 2, 2] "read twice" = map v9 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v11: f32[2, 2] = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v12: f32[2, 1, 1] = reshape v2 { shape = [2, 1, 1] }
  v13: f32[2, 1] = reshape v12 { shape = [2, 1] }
  v14: f32[2, 2] = map v11, v13 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  v15: f32[2, 2, 1] "a number a row" = reshape v14 { shape = [2, 2, 1] }
  v16: f32[2, 2] = matmul v0, v0 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v17: f32[2, 2] = map v16 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v18: f32[2, 2] = map v17 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = abs n0
      return n1
    }
  }
  v19: f32[2, 1, 2, 1] "twice" = reshape v18 { shape = [2, 1, 2, 1] }
  v20: f32[4, 1] = reshape v0 { shape = [4, 1] }
  v21: f32[2, 1] = reshape v2 { shape = [2, 1] }
  v22: f32[4, 2] = matmul v20, v21 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  v23: f32[2, 2, 2] = reshape v22 { shape = [2, 2, 2] }
  v24: f32[2, 1, 2] = reshape v1 { shape = [2, 1, 2] }
  v25: f32[2, 2, 2] "repeated in part" = map v23, v24 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = add n0, n1
      return n2
    }
  }
  return v7, v9, v10, v15, v19, v25
}
method "main" = @main {
  input "x"
  input "y"
  input "z"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
