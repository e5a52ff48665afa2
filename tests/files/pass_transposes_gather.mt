; An image in planes is enlarged between two convolutions of pixels: the transposes cancel, and pixels are picked instead of planes. Positions that are
; computed stay what they are.
;! input f32[1, 2, 2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]
;! input i32[1] = [1]
;! pass = transposes, simplify, dead_code
;! print
const0: i32[4] = [0, 0, 1, 1]
const1: i32[3] = [1, 0, 1]
func @main(v0: f32[1, 2, 2, 3], v1: i32[1]) {
  v2 = constant { data = const0 }
  v3 = constant { data = const1 }
  v4 = transpose v0 { permutation = [0, 3, 1, 2] }
  v5 = gather v4, v2 { axis = 2, batch = 0 }
  v6 = gather v5, v3 { axis = 3, batch = 0 }
  v7 "larger" = transpose v6 { permutation = [0, 2, 3, 1] }
  v8 = transpose v0 { permutation = [0, 3, 1, 2] }
  v9 = gather v8, v1 { axis = 1, batch = 0 }
  v10 "a channel" = transpose v9 { permutation = [0, 2, 3, 1] }
  return v7, v10
}
method "main" = @main { input "x" input "channel" output "0" output "1" }
;! ---
const0: i32[4] = [0, 0, 1, 1]
const1: i32[3] = [1, 0, 1]
func @main(v0: f32[1, 2, 2, 3], v1: i32[1]) {
  v2: i32[4] = constant { data = const0 }
  v3: i32[3] = constant { data = const1 }
  v4: f32[1, 4, 2, 3] = gather v0, v2 { axis = 1, batch = 0 }
  v5: f32[1, 4, 3, 3] "larger" = gather v4, v3 { axis = 2, batch = 0 }
  v6: f32[1, 2, 2, 1] = gather v0, v1 { axis = 3, batch = 0 }
  v7: f32[1, 1, 2, 2] = reshape v6 { shape = [1, 1, 2, 2] }
  v8: f32[1, 2, 2, 1] "a channel" = reshape v7 { shape = [1, 2, 2, 1] }
  return v5, v8
}
method "main" = @main {
  input "x"
  input "channel"
  output "0"
  output "1"
}
