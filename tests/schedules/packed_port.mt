; An output of four bits: bytes are packed as a whole.
;! kernels = x86-64-v3
func @main(v0: i8[16]) {
  v1 = repack v0 { element = i4 }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: pack 16 of i4 by 8 bytes
kernel @pack_i4(source: input i8[16] align 1, target: output i8[8] align 1) {
  %2: i8x16 = load source[0]
  %4: i8x16 = and %2, 15
  %5: i8x8 = shuffle %4, %4 [0, 2, 4, 6, 8, 10, 12, 14]
  %6: i8x8 = shuffle %4, %4 [1, 3, 5, 7, 9, 11, 13, 15]
  %7: i8x8 = shift_left %6, 4
  %8: i8x8 = or %5, %7
  store target[0], %8
}
