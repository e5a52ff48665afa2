; Bytes are turned in squares of 16 bytes that lie side by side in a vector.
;! outline = x86-64-v3
;! schedule = transpose
;! technique = turns, turned-blocks
func @main(v0: i8[64, 48]) {
  v1 = transpose v0 { permutation = [1, 0] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: transpose, 32 at a time
kernel @transpose(input0: input i8[3072] align 1, output: output i8[3072] align 1) {
  for each %6 in 0..64 step 32 {
    1 mul i64
    for each %11 in 0..48 step 16 {
      48 add i64, 32 load i8x16, 16 join i8x32, 64 shuffle i8x32, 1 mul i64, 16 store
    }
  }
}
