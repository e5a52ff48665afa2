; Products whose inner dimension is long and known at run time: dot products of several rows and columns.
;! outline = x86-64-v3
;! schedule = products with run-time extents, 4x4 at a time
func @main(v0: f32[2, v2], v1: f32[6, v2]) {
  v2: index 1..=512 = extent_of v0 { axis = 1 }
  v3 = matmul v0, v1 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v3
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: products with run-time extents, 4x4 at a time
kernel @matmul_f32(operand0: input f32[1024] align 4, operand1: input f32[3072] align 4, output0: output f32[12] align 4, extent0: input i64[1] align 8) {
  1 load i64
  for each %8 in 0..0 step 4 {
    1 mul i64
    for each %13 in 0..4 step 4 {
      7 mul i64, 8 add i64, 1 and i64
      %88: f32x8, %89: f32x8, %90: f32x8, %91: f32x8, %92: f32x8, %93: f32x8, %94: f32x8, %95: f32x8, %96: f32x8, %97: f32x8, %98: f32x8, %99: f32x8, %100: f32x8, %101: f32x8, %102: f32x8, %103: f32x8 = for %39 in 0..%37 step 8 carry %40 = 0.0, %41 = 0.0, %42 = 0.0, %43 = 0.0, %44 = 0.0, %45 = 0.0, %46 = 0.0, %47 = 0.0, %48 = 0.0, %49 = 0.0, %50 = 0.0, %51 = 0.0, %52 = 0.0, %53 = 0.0, %54 = 0.0, %55 = 0.0 {
        8 add i64, 8 load f32x8, 16 fma f32x8, 1 yield
      }
      16 horizontal_add f32
      %169: f32, %170: f32, %171: f32, %172: f32, %173: f32, %174: f32, %175: f32, %176: f32, %177: f32, %178: f32, %179: f32, %180: f32, %181: f32, %182: f32, %183: f32, %184: f32 = for %120 in %37..%2 step 1 carry %121 = %104, %122 = %105, %123 = %106, %124 = %107, %125 = %108, %126 = %109, %127 = %110, %128 = %111, %129 = %112, %130 = %113, %131 = %114, %132 = %115, %133 = %116, %134 = %117, %135 = %118, %136 = %119 {
        8 add i64, 8 load f32, 16 fma f32, 1 yield
      }
      16 mul i64, 40 add i64, 16 store
    }
    for each %289 in 4..6 step 1 {
      5 mul i64, 5 add i64, 1 and i64
      %327: f32x8, %328: f32x8, %329: f32x8, %330: f32x8 = for %308 in 0..%306 step 8 carry %309 = 0.0, %310 = 0.0, %311 = 0.0, %312 = 0.0 {
        5 add i64, 5 load f32x8, 4 fma f32x8, 1 yield
      }
      4 horizontal_add f32
      %354: f32, %355: f32, %356: f32, %357: f32 = for %335 in %306..%2 step 1 carry %336 = %331, %337 = %332, %338 = %333, %339 = %334 {
        5 add i64, 5 load f32, 4 fma f32, 1 yield
      }
      4 mul i64, 7 add i64, 4 store
    }
  }
  for each %381 in 0..2 step 1 {
    1 mul i64
    for each %386 in 0..4 step 4 {
      5 mul i64, 5 add i64, 1 and i64
      %424: f32x8, %425: f32x8, %426: f32x8, %427: f32x8 = for %405 in 0..%403 step 8 carry %406 = 0.0, %407 = 0.0, %408 = 0.0, %409 = 0.0 {
        5 add i64, 5 load f32x8, 4 fma f32x8, 1 yield
      }
      4 horizontal_add f32
      %451: f32, %452: f32, %453: f32, %454: f32 = for %432 in %403..%2 step 1 carry %433 = %428, %434 = %429, %435 = %430, %436 = %431 {
        5 add i64, 5 load f32, 4 fma f32, 1 yield
      }
      4 mul i64, 7 add i64, 4 store
    }
    for each %478 in 4..6 step 1 {
      3 mul i64, 2 add i64, 1 and i64
      %497: f32x8 = for %490 in 0..%488 step 8 carry %491 = 0.0 {
        2 add i64, 2 load f32x8, 1 fma f32x8, 1 yield
      }
      1 horizontal_add f32
      %506: f32 = for %499 in %488..%2 step 1 carry %500 = %498 {
        2 add i64, 2 load f32, 1 fma f32, 1 yield
      }
      1 mul i64, 1 add i64, 1 store
    }
  }
}
