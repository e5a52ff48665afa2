; Sums of rows on a GPU: sums side by side gain nothing.
;! outline = vulkan1.1
;! schedule = reduction
func @main(v0: f32[6, 16]) {
  v1 = reduce v0 { reduction = sum, axes = [0] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; vulkan1.1: reduction, 8 at a time
kernel @reduce(operand0: input f32[96] align 4, output0: output f32[16] align 4) {
  for each %5 in 0..16 step 8 {
    %16: f32x8 = for %9 in 0..6 step 1 carry %10 = 0.0 {
      1 mul i64, 1 add i64, 1 load f32x8, 1 add f32x8, 1 yield
    }
    1 store
  }
}
