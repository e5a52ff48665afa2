; Short rows lie side by side, one in each lane.
;! kernels = x86-64-v4
;! technique = side-by-side
func @main(v0: f32[32, 4]) {
  v1 = reduce v0 { reduction = max, axes = [1] }
  v2 = map v0, v1 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = sub n0, n1
      n3: f32 = abs n2
      return n3
    }
  }
  v3 = reduce v2 { reduction = sum, axes = [1] }
  v4 = map v2, v3 {
    expression = (f32, f32) {
      n0: f32 = input 0
      n1: f32 = input 1
      n2: f32 = div n0, n1
      return n2
    }
  }
  return v4
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v4: row by row, 32 of 4, 16 side by side
kernel @rows(output0: output f32[128] align 4, rows1: input f32[128] align 4, columns0: scratch f32[64] align 64, columns1: scratch f32[64] align 64) {
  for each %2 in 0..32 step 16 private columns0, columns1 {
    %4: i64 = mul %2, 4
    %6: f32x16 = load rows1[%4]
    %7: f32x16 = load rows1[%4 + 16]
    %8: f32x16 = load rows1[%4 + 32]
    %9: f32x16 = load rows1[%4 + 48]
    %10: f32x32 = shuffle %6, %8 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %11: f32x32 = shuffle %7, %9 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %12: f32x16 = part %10, 0
    %13: f32x16 = part %10, 16
    %14: f32x16 = part %11, 0
    %15: f32x16 = part %11, 16
    %16: f32x32 = shuffle %12, %14 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %17: f32x32 = shuffle %13, %15 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %18: f32x16 = part %16, 0
    %19: f32x16 = part %16, 16
    %20: f32x16 = part %17, 0
    %21: f32x16 = part %17, 16
    %22: f32x32 = shuffle %18, %20 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %23: f32x32 = shuffle %19, %21 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %24: f32x16 = part %22, 0
    %25: f32x16 = part %22, 16
    %26: f32x16 = part %23, 0
    %27: f32x16 = part %23, 16
    %28: f32x32 = shuffle %24, %26 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %29: f32x32 = shuffle %25, %27 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %30: f32x16 = part %28, 0
    %31: f32x16 = part %28, 16
    %32: f32x16 = part %29, 0
    %33: f32x16 = part %29, 16
    store columns0[0], %30
    store columns0[16], %31
    store columns0[32], %32
    store columns0[48], %33
    %37: f32x16 = load columns0[0]
    %38: f32x16 = float_max_first -inf, %37
    %41: f32x16 = load columns0[32]
    %42: f32x16 = float_max_first -inf, %41
    %43: f32x16 = float_max_first %38, %42
    %46: f32x16 = load columns0[16]
    %47: f32x16 = float_max_first -inf, %46
    %50: f32x16 = load columns0[48]
    %51: f32x16 = float_max_first -inf, %50
    %52: f32x16 = float_max_first %47, %51
    %53: f32x16 = float_max_first %43, %52
    %54: f32x16 = float_max_first -inf, %53
    for %57 in 0..4 step 1 {
      %59: i64 = mul %57, 16
      %60: f32x16 = load columns0[%59]
      %62: f32x16 = sub %60, %54
      %63: f32x16 = abs %62
      %65: i64 = mul %57, 16
      store columns1[%65], %63
    }
    %69: f32x16 = load columns1[0]
    %70: f32x16 = add 0.0, %69
    %73: f32x16 = load columns1[32]
    %74: f32x16 = add 0.0, %73
    %75: f32x16 = add %70, %74
    %78: f32x16 = load columns1[16]
    %79: f32x16 = add 0.0, %78
    %82: f32x16 = load columns1[48]
    %83: f32x16 = add 0.0, %82
    %84: f32x16 = add %79, %83
    %85: f32x16 = add %75, %84
    %86: f32x16 = add 0.0, %85
    for %89 in 0..4 step 1 {
      %91: i64 = mul %89, 16
      %92: f32x16 = load columns0[%91]
      %94: f32x16 = sub %92, %54
      %95: f32x16 = abs %94
      %96: f32x16 = float_div %95, %86
      %98: i64 = mul %89, 16
      store columns0[%98], %96
    }
    %100: f32x16 = load columns0[0]
    %101: f32x16 = load columns0[16]
    %102: f32x16 = load columns0[32]
    %103: f32x16 = load columns0[48]
    %104: f32x32 = shuffle %100, %102 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %105: f32x32 = shuffle %101, %103 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %106: f32x16 = part %104, 0
    %107: f32x16 = part %104, 16
    %108: f32x16 = part %105, 0
    %109: f32x16 = part %105, 16
    %110: f32x32 = shuffle %106, %108 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %111: f32x32 = shuffle %107, %109 [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31]
    %112: f32x16 = part %110, 0
    %113: f32x16 = part %110, 16
    %114: f32x16 = part %111, 0
    %115: f32x16 = part %111, 16
    store output0[%4], %112
    store output0[%4 + 16], %113
    store output0[%4 + 32], %114
    store output0[%4 + 48], %115
  }
}
