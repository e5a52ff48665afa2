; From byte to byte: what changes nothing goes, what limits is a clamp, what approximates is a table, all else stays.
;! input i8[4] = [-128, -3, 5, 127]
;! pass = byte_functions, dead_code
;! print
func @main(v0: i8[4]) {
  v1: f32[4] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 0.5
      n3: f32 = mul n1, n2
      return n3
    }
  }
  v2: i8[4] "same" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant 2.0
      n2: f32 = mul n0, n1
      n3: i8 = convert n2
      return n3
    }
  }
  v3: f32[4] = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant 0.0
      n2: f32 = max.propagate n0, n1
      return n2
    }
  }
  v4: i8[4] "relu" = map v3 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant 2.0
      n2: f32 = mul n0, n1
      n3: i8 = convert n2
      return n3
    }
  }
  v5: i8[4] "tanh" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = tanh n0
      n2: f32 = constant 127.0
      n3: f32 = mul n1, n2
      n4: i8 = convert n3
      return n4
    }
  }
  v6: i8[4] "half" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  return v2, v4, v5, v6
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
  output "3"
}
;! ---
const0: i8[256] = hex "81818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818181818282828282828282828282828283868ea0c6003a60727a7d7e7e7e7e7e7e7e7e7e7e7e7e7e7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f7f"
func @main(v0: i8[4]) {
  v1: f32[4] = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: f32 = convert n0
      n2: f32 = constant 0.5
      n3: f32 = mul n1, n2
      return n3
    }
  }
  v2: i8[4] "relu" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i8 = constant 0
      n2: i8 = max.first n0, n1
      return n2
    }
  }
  v3: i8[4] "tanh" = map v0 {
    expression = (i8) {
      n0: i8 = input 0
      n1: i32 = convert n0
      n2: i32 = constant 128
      n3: i32 = add n1, n2
      n4: i8 = lut const0, n3
      return n4
    }
  }
  v4: i8[4] "half" = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: i8 = convert n0
      return n1
    }
  }
  return v0, v2, v3, v4
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
  output "3"
}
