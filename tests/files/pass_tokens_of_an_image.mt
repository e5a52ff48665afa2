; Pixels of an image as tokens whose mean is taken off: the two transposes meet before one of them moves on, and the rows stay as they lie.
;! input f32[1, 2, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! pass = all
;! print
func @main(v0: f32[1, 2, 2, 3]) {
  v1 = transpose v0 { permutation = [0, 3, 1, 2] }
  v2 = reshape v1 { shape = [1, 3, 4] }
  v3 = transpose v2 { permutation = [0, 2, 1] }
  v4 = reduce v3 { reduction = sum, axes = [2] }
  v5 = map v3, v4 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      return n2
    }
  }
  return v5
}
method "main" = @main {
  input "x"
  output "0"
}
;! ---
func @main(v0: f32[1, 2, 2, 3]) {
  v1: f32[1, 4, 3] = reshape v0 { shape = [1, 4, 3] }
  v2: f32[1, 4, 1] = reduce v1 { reduction = sum, axes = [2] }
  v3: f32[1, 4, 3] = map v1, v2 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      return n2
    }
  }
  return v3
}
method "main" = @main {
  input "x"
  output "0"
}
