; A window of bytes whose largest element is found in bytes.
;! outline = x86-64-v3
;! schedule = windows of 2x2
;! technique = narrow-windows
func @main(v0: i8[1, 4, 4, 16]) {
  v1 = window v0 { reduction = max, summation = rows, size = [2, 2], strides = [2, 2], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: windows of 2x2, 16 channels at a time
kernel @window_2x2(operand0: input i8[256] align 1, output0: output i8[64] align 1) {
  for each %4 in 0..2 step 1 {
    1 signed_div i64, 1 signed_rem i64
    for each %10 in 0..2 step 1 {
      7 mul i64, 3 add i64, 4 load i8x16, 4 signed_max i8x16, 1 store
    }
  }
}
