; A window on a GPU: each pixel and some channels are a position.
;! outline = vulkan1.1
;! schedule = windows of
func @main(v0: f32[1, 4, 4, 8]) {
  v1 = window v0 { reduction = max, summation = rows, size = [3, 3], strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [] }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; vulkan1.1: windows of 3x3, 8 channels at a time
kernel @window_3x3(operand0: input f32[128] align 4, output0: output f32[128] align 4) {
  for each %4 in 0..4 step 1 {
    1 signed_div i64, 1 signed_rem i64
    for each %10 in 0..4 step 1 {
      2 mul i64, 3 add i64, 2 unsigned_less mask, 1 and mask
      %78: f32x8 = if %26 {
        2 add i64, 2 mul i64, 9 load f32x8, 9 float_max_first f32x8, 1 yield
      } else {
        %77: f32x8 = for %55 in 0..3 step 1 carry %56 = -inf {
          2 add i64, 1 mul i64
          %76: f32x8 = for %62 in 0..3 step 1 carry %63 = %56 {
            1 add i64, 2 unsigned_less mask, 1 and mask
            %75: f32x8 = if %69 {
              1 add i64, 1 mul i64, 1 load f32x8, 1 float_max_first f32x8, 1 yield
            } else {
              1 yield
            }
            1 yield
          }
          1 yield
        }
        1 yield
      }
      1 mul i64, 1 store
    }
  }
}
