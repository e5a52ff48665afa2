;! input f32[3] = [1.0, -2.0, 3.0]
;! pass = maps, dead_code
;! print
const0: f32[1, 1] = [2.0]
const1: f32[] = [4.0]
const2: f32[1] = [0.5]
func @main(v0: f32[3]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 = constant { data = const2 }
  v4 = map v0, v2, v0, v3 {
    expression = (f32, f32, f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = input 2
      n3: f32 = input 3
      n4: f32 = mul n1, n3
      n5: f32 = sqrt n1
      n6: f32 = add n0, n4
      n7: f32 = mul n6, n2
      n8: f32 = add n7, n5
      n9: f32 = exp n0
      return n8
    }
  }
  v5 "keeps its shape" = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  return v4, v5
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
;! ---
const0: f32[1, 1] = [2.0]
func @main(v0: f32[3]) {
  v1: f32[1, 1] = constant { data = const0 }
  v2: f32[3] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = constant 4.0
      n2: f32 = constant 0.5
      n3: f32 = constant 2.0
      n4: f32 = add n0, n3
      n5: f32 = mul n4, n0
      n6: f32 = add n5, n3
      return n6
    }
  }
  v3: f32[1, 3] "keeps its shape" = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = mul n0, n1
      return n2
    }
  }
  return v2, v3
}
method "main" = @main {
  input "x"
  output "y"
  output "z"
}
