; The larger byte of two: bytes are compared as they lie in memory.
;! outline = x86-64-v3
;! schedule = element-wise
;! technique = extremes
func @main(v0: i8[64], v1: i8[64]) {
  v2 = map v0, v1 {
    expression = (i8, i8) {
      n0: i8 = input 0
      n1: i8 = input 1
      n2: i8 = max.first n0, n1
      return n2
    }
  }
  return v2
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: element-wise over 1x64, 32 at a time
kernel @map(operand0: input i8[64] align 1, operand1: input i8[64] align 1, output0: output i8[64] align 1) {
  for each %6 in 0..64 step 32 {
    2 load i8x32, 1 signed_max i8x32, 1 store
  }
}
