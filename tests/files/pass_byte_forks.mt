; Maps that fork from bytes and join again are one table: x times a function of it, on another scale at last; two results; other signs. Not where it would keep bytes longer that others do not read.
;! input i8[4] = [-128, -3, 5, 127]
;! pass = byte_functions, dead_code
;! print
func @main(v0: i8[4]) {
  v1: i8[4] "gate" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 0.03125
      n3: f32 = mul n1, n2
      n4: f32 = logistic n3
      n5: f32 = constant 127.0
      n6: f32 = mul n4, n5
      n7: i8 = convert n6
      return n7
    }
  }
  v2: i8[4] "product" = map v0, v1 {
    expression = (i8, i8) {
      n0: i8 = input 0
      n1: i8 = input 1
      n2: i32 = convert n0
      n3: i32 = convert n1
      n4: i32 = mul n2, n3
      n5: i32 = constant 1082130432
      n6: i32 = constant -6
      n7: i32 = requant.tflite_double n4, n5, n6
      n8: i8 = convert.saturating n7
      return n8
    }
  }
  v3: u8[4] "other scale" = map v2 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 1082130432
      n3: i32 = constant 1
      n4: i32 = requant.tflite_double n1, n2, n3
      n5: i32 = constant 100
      n6: i32 = add n4, n5
      n7: u8 = convert.saturating n6
      return n7
    }
  }
  v4: i8[4] "kept" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = tanh n1
      n3: f32 = constant 100.0
      n4: f32 = mul n2, n3
      n5: i8 = convert n4
      return n5
    }
  }
  v5: i8[4] "after what is kept" = map v4 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = exp n1
      n3: i8 = convert n2
      return n3
    }
  }
  v6: i8[4], v7: u8[4] = map v5 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = sin n1
      n3: i8 = convert n2
      n4: u8 = convert n2
      return n3, n4
    }
  }
  v8: u8[4] "on another scale" = map v4 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: u8 = convert.saturating n3
      return n4
    }
  }
  v9: i8[4] "twice" = map v6 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i8 = add n0, n0
      return n1
    }
  }
  v10: i8[4] "on one scale" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = logistic n1
      n3: f32 = constant 100.0
      n4: f32 = mul n2, n3
      n5: i8 = convert n4
      return n5
    }
  }
  v11: u8[4] "and on another" = map v10 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: u8 = convert.saturating n3
      return n4
    }
  }
  return v3, v4, v9, v7, v8, v11
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
;! ---
const0: u8[256] = hex "62626262626262626261616161616161616161616161616161616060606060605f60606060605f5f5f5f5f5f5f5f5e5e5e5e5e5e5e5d5e5e5d5d5d5d5d5d5d5d5c5d5d5c5c5c5c5c5c5c5c5c5c5c5b5c5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5b5c5c5c5c5c5c5c5c5d5d5d5d5d5d5e5e5e5f5f5f5f60606161616262636364646565666667676868696a6a6b6c6c6d6e6f6f70717273737475767778797a7a7b7c7d7e7f808182838485868788898a8b8c8d8e8f9092929494969798999a9b9c9d9ea0a1a1a3a5a6a7a8a9aaabacaeafb0b1b2b3b4b5b7b7b8b9bbbcbdbebfc0c1c2c3c4c5c6c8c9cacbcccdced0d1d1d2d3d4d5d6d7d8dadbdcdddedfe0e1"
const1: i8[256] = hex "9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9c9d9d9d9d9d9d9da0b4004c606363636363636364646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464646464"
const2: i8[256] = hex "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
const3: u8[256] = hex "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
const4: u8[256] = hex "8080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808080808081848b9ab2c9d8dfe2e3e3e3e3e3e3e3e3e3e3e3e3e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4e4"
func @main(v0: i8[4]) {
  v1: u8[4] "other scale" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: u8 = lut const0, n3
      return n4
    }
  }
  v2: i8[4] "kept" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: i8 = lut const1, n3
      return n4
    }
  }
  v3: i8[4], v4: u8[4] = map v2 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: i8 = lut const2, n3
      n5: u8 = lut const3, n3
      return n4, n5
    }
  }
  v5: u8[4] "on another scale" = map v2 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: u8 = convert.saturating n3
      return n4
    }
  }
  v6: i8[4] "twice" = map v3 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i8 = add n0, n0
      return n1
    }
  }
  v7: u8[4] "and on another" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: u8 = lut const4, n3
      return n4
    }
  }
  return v1, v2, v6, v4, v5, v7
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
  output "5"
}
