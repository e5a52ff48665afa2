; Products with a transposed operand, whose inner dimension is known at run time: sums of its rows.
;! outline = x86-64-v3
;! schedule = products with run-time extents, by rows
func @main(v0: f32[2, v2], v1: f32[v2, 6]) {
  v2: index 1..=64 = extent_of v0 { axis = 1 }
  v3 = transpose v1 { permutation = [1, 0] }
  v4 = matmul v0, v3 { left_zero_point = 0, right_zero_point = 0, accumulator = f32 }
  return v4
}
method "main" = @main {
  input "0"
  input "1"
  output "0"
}
;! ---
; x86-64-v3: products with run-time extents, by rows
kernel @matmul_f32(operand0: input f32[128] align 4, operand1: input f32[384] align 4, output0: output f32[12] align 4, extent0: input i64[1] align 8) {
  1 load i64
  for each %10 in 0..0 step 8 {
    8 mul i64, 8 add i64, 1 and i64
    %163: f32x8, %164: f32x8, %165: f32x8, %166: f32x8, %167: f32x8, %168: f32x8, %169: f32x8, %170: f32x8 = for %38 in 0..%37 step 4 carry %39 = 0.0, %40 = 0.0, %41 = 0.0, %42 = 0.0, %43 = 0.0, %44 = 0.0, %45 = 0.0, %46 = 0.0 {
      11 add i64, 1 mul i64, 4 load f32x8, 32 load_splat f32x8, 32 mul f32x8, 32 add f32x8, 1 yield
    }
    %215: f32x8, %216: f32x8, %217: f32x8, %218: f32x8, %219: f32x8, %220: f32x8, %221: f32x8, %222: f32x8 = for %171 in %37..%3 step 1 carry %172 = %163, %173 = %164, %174 = %165, %175 = %166, %176 = %167, %177 = %168, %178 = %169, %179 = %170 {
      8 add i64, 1 mul i64, 1 load f32x8, 8 load_splat f32x8, 8 mul f32x8, 8 add f32x8, 1 yield
    }
    8 mul i64, 8 store, 7 add i64
  }
  for each %262 in 0..2 step 1 {
    2 mul i64, 1 add i64, 1 and i64
    %298: f32x8 = for %271 in 0..%270 step 4 carry %272 = 0.0 {
      4 add i64, 1 mul i64, 4 load f32x8, 4 load_splat f32x8, 4 mul f32x8, 4 add f32x8, 1 yield
    }
    %308: f32x8 = for %299 in %270..%3 step 1 carry %300 = %298 {
      1 add i64, 1 mul i64, 1 load f32x8, 1 load_splat f32x8, 1 mul f32x8, 1 add f32x8, 1 yield
    }
    1 mul i64, 1 store
  }
}
