; Products of two rows with two columns at a time, eight bytes each. The last row of an odd number is alone in its squares.
;! kernels = aarch64+i8mm
;! technique = squares
const0: i8[4, 16] = hex "82b70eee7f1a5039bef07ec2347f066ed08f5dc7512447e3404300026b6e545594a065685d64c4980bb8d4544a8721a99a01ad219eb59cf6a15ef6f15a1d830b"
func @main(v0: i8[3, 16]) {
  v1 = constant { data = const0 }
  v2 = matmul v0, v1 { left_zero_point = 3, right_zero_point = 0, accumulator = i32 }
  return v2
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; aarch64+i8mm: products of signed bytes in squares, 3 pixels x 4 channels at a time, unrolled 2 times
kernel @matmul_i8(input: input i8[48] align 1, weights: input i8[64] align 64, initial: input i32[4] align 64, output0: output i32[12] align 4) {
  %59: i64 = for %9 in 0..1 step 1 carry %10 = 0 {
    %12: i64 = add %9, 1
    %15: i64 = mul %9, 48
    %17: i64 = mul %9, 3
    %29: i32x4 = load initial[0]
    %30: i32x4 = shuffle %29, %29 [0, 1, 4, 5]
    %31: i32x4 = shuffle %29, %29 [2, 3, 6, 7]
    %32: i32x4 = shuffle %29, %29 [0, 1, 4, 5]
    %33: i32x4 = shuffle %29, %29 [2, 3, 6, 7]
    %34: i8x16 = load input[%15]
    %35: i8x16 = load input[%15 + 16]
    %36: i8x16 = shuffle %34, %35 [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
    %37: i8x16 = shuffle %34, %35 [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
    %38: i8x16 = load input[%15 + 32]
    %39: i8x16 = load input[%15 + 32]
    %40: i8x16 = shuffle %38, %39 [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
    %41: i8x16 = shuffle %38, %39 [8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31]
    %42: i8x16 = load weights[0]
    %43: i32x4 = dot_signed_squares %30, %36, %42
    %44: i32x4 = dot_signed_squares %32, %40, %42
    %45: i8x16 = load weights[16]
    %46: i32x4 = dot_signed_squares %31, %36, %45
    %47: i32x4 = dot_signed_squares %33, %40, %45
    %48: i8x16 = load weights[32]
    %49: i32x4 = dot_signed_squares %43, %37, %48
    %50: i32x4 = dot_signed_squares %44, %41, %48
    %51: i8x16 = load weights[48]
    %52: i32x4 = dot_signed_squares %46, %37, %51
    %53: i32x4 = dot_signed_squares %47, %41, %51
    %54: i32x4 = shuffle %49, %52 [0, 1, 4, 5]
    %55: i32x4 = shuffle %49, %52 [2, 3, 6, 7]
    %56: i32x4 = shuffle %50, %53 [0, 1, 4, 5]
    %58: i64 = mul %17, 4
    store output0[%58], %54
    store output0[%58 + 4], %55
    store output0[%58 + 8], %56
    yield %12
  }
}
