; Weights of binary16 that one window reads: products widen them as they load them.
;! outline = x86-64-v3
;! schedule = products of floats
;! technique = widening
const0: f16[52, 3, 3, 24] = numbers 1
func @main(v0: f32[1, 3, 3, 24]) {
  v1 = constant { data = const0 }
  v2 = map v1 {
    expression = (f16) {
      n0: f16 = input 0
      n1: f32 = convert n0
      return n1
    }
  }
  v3 = conv v0, v2 { strides = [1, 1], dilation = [1, 1], padding_low = [0, 0], padding_high = [0, 0], positions = [], shift = [], input_dilation = [1, 1], groups = 1, input_zero_point = 0, filter_zero_point = 0, accumulator = f32 }
  return v3
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: products of floats, 1 pixels x 32+16+4 channels at a time, unrolled 4 times
kernel @conv_3x3_f32(input: input f32[216] align 4, weights: input i16[11232] align 64, output0: output f32[52] align 4) {
  %472: i64 = for %10 in 0..1 step 1 carry %11 = 0 {
    3 add i64, 3 mul i64
    %103: f32x8, %104: f32x8, %105: f32x8, %106: f32x8 = for %43 in 0..72 step 4 carry %44 = 0.0, %45 = 0.0, %46 = 0.0, %47 = 0.0 {
      1 mul i64, 1 add i64, 16 load i16x8, 16 half_to_float f32x8, 4 load_splat f32x8, 16 fma f32x8, 1 yield
    }
    %171: f32x8, %172: f32x8, %173: f32x8, %174: f32x8 = for %110 in 0..72 step 4 carry %111 = %103, %112 = %104, %113 = %105, %114 = %106 {
      1 mul i64, 2 add i64, 16 load i16x8, 16 half_to_float f32x8, 4 load_splat f32x8, 16 fma f32x8, 1 yield
    }
    %239: f32x8, %240: f32x8, %241: f32x8, %242: f32x8 = for %178 in 0..72 step 4 carry %179 = %171, %180 = %172, %181 = %173, %182 = %174 {
      1 mul i64, 2 add i64, 16 load i16x8, 16 half_to_float f32x8, 4 load_splat f32x8, 16 fma f32x8, 1 yield
    }
    1 mul i64, 2 join f32x16, 1 join f32x32, 1 store
    %296: f32x8, %297: f32x8 = for %261 in 0..72 step 4 carry %262 = 0.0, %263 = 0.0 {
      1 mul i64, 2 add i64, 8 load i16x8, 8 half_to_float f32x8, 4 load_splat f32x8, 8 fma f32x8, 1 yield
    }
    %336: f32x8, %337: f32x8 = for %301 in 0..72 step 4 carry %302 = %296, %303 = %297 {
      1 mul i64, 2 add i64, 8 load i16x8, 8 half_to_float f32x8, 4 load_splat f32x8, 8 fma f32x8, 1 yield
    }
    %376: f32x8, %377: f32x8 = for %341 in 0..72 step 4 carry %342 = %336, %343 = %337 {
      1 mul i64, 2 add i64, 8 load i16x8, 8 half_to_float f32x8, 4 load_splat f32x8, 8 fma f32x8, 1 yield
    }
    1 mul i64, 1 add i64, 1 join f32x16, 1 store
    %416: f32x4 = for %394 in 0..72 step 4 carry %395 = 0.0 {
      1 mul i64, 2 add i64, 4 load i16x4, 4 half_to_float f32x4, 4 load_splat f32x4, 4 fma f32x4, 1 yield
    }
    %442: f32x4 = for %420 in 0..72 step 4 carry %421 = %416 {
      1 mul i64, 2 add i64, 4 load i16x4, 4 half_to_float f32x4, 4 load_splat f32x4, 4 fma f32x4, 1 yield
    }
    %468: f32x4 = for %446 in 0..72 step 4 carry %447 = %442 {
      1 mul i64, 2 add i64, 4 load i16x4, 4 half_to_float f32x4, 4 load_splat f32x4, 4 fma f32x4, 1 yield
    }
    1 mul i64, 1 add i64, 1 store, 1 yield
  }
}
