; What two instructions read that meet again: all of them go in front of the transpose, and the operand that comes from none is transposed.
;! input f32[1, 2, 2, 2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
;! input f32[1, 2, 2, 2] = [-1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0, 8.0]
;! pass = transposes, simplify, dead_code, transposes, simplify, dead_code
;! print
func @main(v0: f32[1, 2, 2, 2], v1: f32[1, 2, 2, 2]) {
  v2 = transpose v0 { permutation = [0, 3, 1, 2] }
  v3 = map v2 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v4 = map v2, v3, v1 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = mul n0, n1
      n4: f32 = add n3, n2
      return n4
    }
  }
  v5 = transpose v4 { permutation = [0, 2, 3, 1] }
  return v5
}
method "main" = @main {
  input "x"
  input "y"
  output "z"
}
;! ---
func @main(v0: f32[1, 2, 2, 2], v1: f32[1, 2, 2, 2]) {
  v2: f32[1, 2, 2, 2] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  v3: f32[1, 2, 2, 2] = transpose v1 { permutation = [0, 2, 3, 1] }
  v4: f32[1, 2, 2, 2] = map v0, v2, v3 {
    expression = (f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = mul n0, n1
      n4: f32 = add n3, n2
      return n4
    }
  }
  return v4
}
method "main" = @main {
  input "x"
  input "y"
  output "z"
}
