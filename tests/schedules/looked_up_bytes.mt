; Bytes that are looked up in a table in registers.
;! outline = x86-64-v3
;! schedule = element-wise
;! technique = look-ups
const0: u8[256] = numbers 1
func @main(v0: u8[100]) {
  v1 = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: u8 = lut const0, n1
      return n2
    }
  }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: element-wise over 1x100, 32 at a time
kernel @map(operand0: input i8[100] align 1, table0: input i8[256] align 64, output0: output i8[100] align 1) {
  for each %6 in 0..96 step 32 {
    1 load i8x32, 1 xor i8x32, 1 gather i8x32, 1 store
  }
  1 load i8x32, 1 xor i8x32, 1 gather i8x32, 1 store
}
