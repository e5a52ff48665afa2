; The same bytes under other types: narrower elements get a dimension of their own, and the way back.
;! print
;! input f32[2] = [1.0, -2.0]
;! input c64[1] = [0x400000003f800000]
;! run
func @main(v0: f32[2], v1: c64[1]) {
  v2 = bitcast v0 { element = i32 }
  v3 = bitcast v0 { element = u8 }
  v4 = bitcast v3 { element = f32 }
  v5 = bitcast v1 { element = f32 }
  v6 = bitcast v5 { element = c64 }
  return v2, v3, v4, v5, v6
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
}
;! ---
func @main(v0: f32[2], v1: c64[1]) {
  v2: i32[2] = bitcast v0 { element = i32 }
  v3: u8[2, 4] = bitcast v0 { element = u8 }
  v4: f32[2] = bitcast v3 { element = f32 }
  v5: f32[1, 2] = bitcast v1 { element = f32 }
  v6: c64[1] = bitcast v5 { element = c64 }
  return v2, v3, v4, v5, v6
}
method "main" = @main {
  input "a"
  input "b"
  output "0"
  output "1"
  output "2"
  output "3"
  output "4"
}
; i32[2] = [1065353216, -1073741824]
; u8[2, 4] = [0, 0, 128, 63, 0, 0, 0, 192]
; f32[2] = [1.0, -2.0]
; f32[1, 2] = [1.0, 2.0]
; c64[1] = [0x400000003f800000]
