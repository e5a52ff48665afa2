; Packed integers one a byte, and the low bits of bytes packed.
;! print
;! input i4[3] = [-8, 7, -1]
;! input i8[5] = [1, 2, -1, -2, 9]
;! input u8[3] = [15, 16, 200]
;! run
func @main(v0: i4[3], v1: i8[5], v2: u8[3]) {
  v3 = repack v0 { element = i8 }
  v4 = repack v1 { element = i2 }
  v5 = repack v4 { element = i8 }
  v6 = repack v2 { element = u4 }
  v7 = repack v6 { element = u8 }
  return v3, v5, v7
}
method "main" = @main {
  input "a"
  input "b"
  input "c"
  output "0"
  output "1"
  output "2"
}
;! ---
func @main(v0: i4[3], v1: i8[5], v2: u8[3]) {
  v3: i8[3] = repack v0 { element = i8 }
  v4: i2[5] = repack v1 { element = i2 }
  v5: i8[5] = repack v4 { element = i8 }
  v6: u4[3] = repack v2 { element = u4 }
  v7: u8[3] = repack v6 { element = u8 }
  return v3, v5, v7
}
method "main" = @main {
  input "a"
  input "b"
  input "c"
  output "0"
  output "1"
  output "2"
}
; i8[3] = [-8, 7, -1]
; i8[5] = [1, -2, -1, -2, 1]
; u8[3] = [15, 0, 8]
