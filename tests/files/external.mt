; A function of the application between two maps: what it reads comes from scratch memory and from the caller.
;! print
const0: u8[3] = [3, 4, 5]
const1: f32[4] = [0.0, 0.5, 0.0, 0.0]
const2: i32[4] = [0, -7, 0, 0]
src0 = "main" 4 "CUSTOM:Scale" "y"
func @main(v0: f32[2, 3] "x", v1: i8[2]) {
  v2 = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v3, v4 "n" = external v2, v1 { symbol = "app_scale", options = const0, scales = const1, zero_points = const2, results = [f32[2, 3], i32[]] } @ src0
  v5 "y" = map v3 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  return v5, v4
}
method "forward" = @main {
  input "x"
  input "q"
  output "y"
  output "n"
}
;! ---
const0: u8[3] = [3, 4, 5]
const1: f32[4] = [0.0, 0.5, 0.0, 0.0]
const2: i32[4] = [0, -7, 0, 0]
src0 = "main" 4 "CUSTOM:Scale" "y"
func @main(v0: f32[2, 3] "x", v1: i8[2]) {
  v2: f32[2, 3] = map v0 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = add n0, n0
      return n1
    }
  }
  v3: f32[2, 3], v4: i32[] "n" = external v2, v1 { symbol = "app_scale", options = const0, scales = const1, zero_points = const2, results = [f32[2, 3], i32[]] } @ src0
  v5: f32[2, 3] "y" = map v3 {
    expression = (f32) {
      n0: f32 = input 0
      n1: f32 = neg n0
      return n1
    }
  }
  return v5, v4
}
method "forward" = @main {
  input "x"
  input "q"
  output "y"
  output "n"
}
