; Work along rows with two reductions: the row is read once for each, and once more for its result.
;! kernels = x86-64-v3
func @main(v0: f32[2, 100]) {
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
; x86-64-v3: row by row, 2 of 100, 3 passes
kernel @rows(operand0: input f32[200] align 4, operand0.2: input f32[200] align 4, operand0.3: input f32[200] align 4, output0: output f32[200] align 4) {
  %21: f32x16, %22: f32x16 = for %13 in 0..96 step 16 carry %14 = -inf, %15 = -inf {
    %16: f32x16 = load operand0[%13]
    %17: f32x16 = float_max_first %14, %16
    %18: i64 = add 100, %13
    %19: f32x16 = load operand0[%18]
    %20: f32x16 = float_max_first %15, %19
    yield %17, %20
  }
  %23: f32 = horizontal_max %21
  %24: f32 = float_max_first -inf, %23
  %25: f32 = horizontal_max %22
  %26: f32 = float_max_first -inf, %25
  %28: f32x16 = load operand0[96] active 4
  %30: f32 = extract %28, 0
  %31: f32 = float_max_first -inf, %30
  %32: f32 = extract %28, 1
  %33: f32 = float_max_first %31, %32
  %34: f32 = extract %28, 2
  %35: f32 = float_max_first %33, %34
  %36: f32 = extract %28, 3
  %37: f32 = float_max_first %35, %36
  %38: f32 = float_max_first %24, %37
  %40: f32x16 = load operand0[196] active 4
  %42: f32 = extract %40, 0
  %43: f32 = float_max_first -inf, %42
  %44: f32 = extract %40, 1
  %45: f32 = float_max_first %43, %44
  %46: f32 = extract %40, 2
  %47: f32 = float_max_first %45, %46
  %48: f32 = extract %40, 3
  %49: f32 = float_max_first %47, %48
  %50: f32 = float_max_first %26, %49
  %51: f32x16 = splat %38
  %53: f32x16 = splat %50
  %73: f32x16, %74: f32x16 = for %61 in 0..96 step 16 carry %62 = 0.0, %63 = 0.0 {
    %64: f32x16 = load operand0.2[%61]
    %65: f32x16 = sub %64, %51
    %66: f32x16 = abs %65
    %67: f32x16 = add %62, %66
    %68: i64 = add 100, %61
    %69: f32x16 = load operand0.2[%68]
    %70: f32x16 = sub %69, %53
    %71: f32x16 = abs %70
    %72: f32x16 = add %63, %71
    yield %67, %72
  }
  %75: f32 = horizontal_add %73
  %76: f32 = add 0.0, %75
  %77: f32 = horizontal_add %74
  %78: f32 = add 0.0, %77
  %80: f32x16 = load operand0.2[96] active 4
  %81: f32x16 = sub %80, %51
  %82: f32x16 = abs %81
  %84: f32 = extract %82, 0
  %85: f32 = add 0.0, %84
  %86: f32 = extract %82, 1
  %87: f32 = add %85, %86
  %88: f32 = extract %82, 2
  %89: f32 = add %87, %88
  %90: f32 = extract %82, 3
  %91: f32 = add %89, %90
  %92: f32 = add %76, %91
  %94: f32x16 = load operand0.2[196] active 4
  %95: f32x16 = sub %94, %53
  %96: f32x16 = abs %95
  %98: f32 = extract %96, 0
  %99: f32 = add 0.0, %98
  %100: f32 = extract %96, 1
  %101: f32 = add %99, %100
  %102: f32 = extract %96, 2
  %103: f32 = add %101, %102
  %104: f32 = extract %96, 3
  %105: f32 = add %103, %104
  %106: f32 = add %78, %105
  %107: f32x16 = splat %38
  %108: f32x16 = splat %92
  %110: f32x16 = splat %50
  %111: f32x16 = splat %106
  for each %115 in 0..96 step 16 {
    %116: f32x16 = load operand0.3[%115]
    %117: f32x16 = sub %116, %107
    %118: f32x16 = abs %117
    %119: f32x16 = float_div %118, %108
    store output0[%115], %119
    %120: i64 = add 100, %115
    %121: f32x16 = load operand0.3[%120]
    %122: f32x16 = sub %121, %110
    %123: f32x16 = abs %122
    %124: f32x16 = float_div %123, %111
    store output0[%120], %124
  }
  %126: f32x16 = load operand0.3[96] active 4
  %127: f32x16 = sub %126, %107
  %128: f32x16 = abs %127
  %129: f32x16 = float_div %128, %108
  store output0[96], %129 active 4
  %131: f32x16 = load operand0.3[196] active 4
  %132: f32x16 = sub %131, %110
  %133: f32x16 = abs %132
  %134: f32x16 = float_div %133, %111
  store output0[196], %134 active 4
}
