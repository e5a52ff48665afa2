; A transform of real numbers: complex ones of half the length, which are separated at the end.
;! kernels = x86-64-v3
func @main(v0: f32[16]) {
  v1 = rfft v0
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: half a real transform of 8, 4 at a time
kernel @rfft(input: input f32[16] align 4, output: output f32[18] align 4, planes: scratch f32[64] align 64, factors: input f32[32] align 4) {
  %4: f32x4 = load factors[0]
  %5: f32x4 = load factors[4]
  %7: f32x8 = load input[0]
  %8: f32x4 = shuffle %7, %7 [0, 2, 4, 6]
  %9: f32x4 = shuffle %7, %7 [1, 3, 5, 7]
  %10: f32x8 = load input[8]
  %11: f32x4 = shuffle %10, %10 [0, 2, 4, 6]
  %12: f32x4 = shuffle %10, %10 [1, 3, 5, 7]
  %13: f32x4 = add %8, %11
  %14: f32x4 = add %9, %12
  %15: f32x4 = sub %8, %11
  %16: f32x4 = sub %9, %12
  %17: f32x4 = mul %15, %4
  %18: f32x4 = mul %16, %5
  %19: f32x4 = mul %15, %5
  %20: f32x4 = mul %16, %4
  %21: f32x4 = sub %17, %18
  %22: f32x4 = add %19, %20
  %24: f32x4 = shuffle %13, %21 [0, 4, 1, 5]
  %25: f32x4 = shuffle %14, %22 [0, 4, 1, 5]
  %26: f32x4 = shuffle %13, %21 [2, 6, 3, 7]
  %27: f32x4 = shuffle %14, %22 [2, 6, 3, 7]
  store planes[0], %24
  store planes[16], %25
  store planes[4], %26
  store planes[20], %27
  %29: f32x4 = load factors[8]
  %30: f32x4 = load factors[12]
  %31: f32x4 = load planes[0]
  %32: f32x4 = load planes[16]
  %33: f32x4 = load planes[4]
  %34: f32x4 = load planes[20]
  %35: f32x4 = add %31, %33
  %36: f32x4 = add %32, %34
  %37: f32x4 = sub %31, %33
  %38: f32x4 = sub %32, %34
  %39: f32x4 = mul %37, %29
  %40: f32x4 = mul %38, %30
  %41: f32x4 = mul %37, %30
  %42: f32x4 = mul %38, %29
  %43: f32x4 = sub %39, %40
  %44: f32x4 = add %41, %42
  %46: f32x4 = shuffle %35, %43 [0, 1, 4, 5]
  %47: f32x4 = shuffle %36, %44 [0, 1, 4, 5]
  %48: f32x4 = shuffle %35, %43 [2, 3, 6, 7]
  %49: f32x4 = shuffle %36, %44 [2, 3, 6, 7]
  store planes[32], %46
  store planes[48], %47
  store planes[36], %48
  store planes[52], %49
  %53: f32x4 = load planes[32]
  %54: f32x4 = load planes[48]
  %55: f32x4 = load planes[36]
  %56: f32x4 = load planes[52]
  %57: f32x4 = add %53, %55
  %58: f32x4 = add %54, %56
  %59: f32x4 = sub %53, %55
  %60: f32x4 = sub %54, %56
  store planes[0], %57
  store planes[16], %58
  store planes[4], %59
  store planes[20], %60
  %62: f32 = load planes[0]
  store planes[8], %62
  %63: f32 = load planes[16]
  store planes[24], %63
  for each %67 in 0..8 step 4 {
    %68: f32x4 = load planes[%67]
    %69: f32x4 = load planes[%67 + 16]
    %71: i64 = sub 5, %67
    %72: f32x4 = load planes[%71]
    %73: f32x4 = load planes[%71 + 16]
    %74: f32x4 = shuffle %72, %72 [3, 2, 1, 0]
    %75: f32x4 = shuffle %73, %73 [3, 2, 1, 0]
    %76: f32x4 = add %68, %74
    %77: f32x4 = sub %69, %75
    %78: f32x4 = add %69, %75
    %79: f32x4 = sub %74, %68
    %80: f32x4 = mul %76, 0.5
    %81: f32x4 = mul %77, 0.5
    %82: f32x4 = mul %78, 0.5
    %83: f32x4 = mul %79, 0.5
    %84: f32x4 = load factors[%67 + 16]
    %85: f32x4 = load factors[%67 + 24]
    %86: f32x4 = mul %82, %84
    %87: f32x4 = mul %83, %85
    %88: f32x4 = mul %82, %85
    %89: f32x4 = mul %83, %84
    %90: f32x4 = sub %86, %87
    %91: f32x4 = add %88, %89
    %92: f32x4 = add %80, %90
    %93: f32x4 = add %81, %91
    %95: i64 = mul %67, 2
    %96: f32x8 = shuffle %92, %93 [0, 4, 1, 5, 2, 6, 3, 7]
    store output[%95], %96
  }
  %97: f32 = load planes[0]
  %98: f32 = load planes[16]
  %99: f32 = sub %97, %98
  store output[16], %99
  store output[17], 0.0
}
