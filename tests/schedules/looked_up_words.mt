; Entries of 32 bits that are looked up in registers.
;! outline = x86-64-v4
;! schedule = element-wise
;! technique = word-look-ups
const0: f32[256] = numbers 1
func @main(v0: u8[100]) {
  v1 = map v0 {
    expression = (u8) {
      n0: u8 = input 0
      n1: i32 = convert n0
      n2: f32 = lut const0, n1
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
; x86-64-v4: element-wise over 1x100, 64 at a time
kernel @map(operand0: input i8[100] align 1, table0: input f32[256] align 64, output0: output f32[100] align 4) {
  2 load i8x64, 2 xor i8x64, 2 gather f32x64, 2 store
}
