; A transpose that others read too: the map whose result is transposed back goes in front of it, the others stay.
;! input f32[1, 2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
;! pass = transposes, simplify, dead_code
;! print
func @main(v0: f32[1, 2, 1, 2]) {
  v1 = transpose v0 { permutation = [0, 3, 1, 2] }
  v2 = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f64 = convert n0
      return n1
    }
  }
  v3 = transpose v2 { permutation = [0, 2, 3, 1] }
  v4 = map v1 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  return v3, v4
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
;! ---
func @main(v0: f32[1, 2, 1, 2]) {
  v1: f64[1, 2, 1, 2] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f64 = convert n0
      return n1
    }
  }
  v2: f32[1, 2, 1, 2] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v3: f32[1, 2, 2, 1] = transpose v2 { permutation = [0, 3, 1, 2] }
  return v1, v3
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
