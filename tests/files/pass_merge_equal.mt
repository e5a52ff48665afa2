;! input f32[2] = [1.0, 2.0]
;! pass = merge_equal, dead_code
;! print
const0: f32[2] = [1.0, 2.0]
const1: f32[2] = [1.0, 2.0]
const2: f32[2] = [1.0, -2.0]
func @main(v0: f32[2]) {
  v1 = constant { data = const0 }
  v2 = constant { data = const1 }
  v3 = constant { data = const2 }
  v4 = concat v0, v1 { axis = 0, extent = [] }
  v5 = concat v0, v2 { axis = 0, extent = [] }
  v6 = concat v0, v3 { axis = 0, extent = [] }
  return v4, v5, v6
}
func @other(v0: f32[2]) {
  v1 = constant { data = const0 }
  v2 = concat v0, v1 { axis = 0, extent = [] }
  return v2
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
;! ---
const0: f32[2] = [1.0, 2.0]
const1: f32[2] = [1.0, -2.0]
func @main(v0: f32[2]) {
  v1: f32[2] = constant { data = const0 }
  v2: f32[2] = constant { data = const1 }
  v3: f32[4] = concat v0, v1 { axis = 0, extent = [] }
  v4: f32[4] = concat v0, v2 { axis = 0, extent = [] }
  return v3, v3, v4
}
func @other(v0: f32[2]) {
  v1: f32[2] = constant { data = const0 }
  v2: f32[4] = concat v0, v1 { axis = 0, extent = [] }
  return v2
}
method "main" = @main {
  input "x"
  output "0"
  output "1"
  output "2"
}
