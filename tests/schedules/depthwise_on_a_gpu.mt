; A depthwise window of floats on a GPU: no row is staged, and every pixel is a position.
;! outline = vulkan1.1
;! schedule = depthwise, products of floats
const0: f32[8, 3, 3, 1] = numbers 1
func @main(v0: f32[1, 4, 4, 8]) {
  v1 = constant { data = const0 }
  v2 = conv v0, v1 { strides = [1, 1], dilation = [1, 1], padding_low = [1, 1], padding_high = [1, 1], positions = [], shift = [], input_dilation = [1, 1], groups = 8, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; vulkan1.1: depthwise, products of floats, 8 channels at a time, staged rows
kernel @depthwise_3x3_f32(input: input f32[128] align 4, weights: input f32[72] align 64, ring: scratch f32[304] align 64, output0: output f32[128] align 4) {
  for each %4 in 0..304 step 4 {
    1 store
  }
  for each %12 in 0..6 step 1 {
    1 mul i64, 2 add i64, 1 unsigned_less mask
    if %21 {
      1 mul i64
      for each %26 in 0..32 step 8 {
        2 add i64, 1 load f32x8, 1 store
      }
    } else {
      for each %32 in 0..32 step 4 {
        1 add i64, 1 store
      }
    }
  }
  for each %39 in 0..4 step 1 {
    4 mul i64, 2 add i64
    for each %62 in 0..4 step 2 {
      2 mul i64, 4 add i64, 27 load f32x8, 18 mul f32x8, 18 add f32x8, 2 store
    }
  }
}
