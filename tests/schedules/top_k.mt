; The largest elements of a row, in order.
;! kernels = x86-64-v3
;! technique = sorted
func @main(v0: f32[1, 20]) {
  v1, v2 = top_k v0 { order = largest, count = [3] }
  return v1, v2
}
method "main" = @main {
  input "0"
  output "0"
  output "1"
}
;! ---
; x86-64-v3: largest 3 of 20, 8 at a time
kernel @top_k(input: input f32[20] align 4, values: output f32[3] align 4, positions: output i32[3] align 4) {
  %38: f32x4, %39: i32x4 = for %6 in 0..3 step 1 carry %7 = 0.0, %8 = 2147483647 {
    %9: f32x4 = load_splat input[%6]
    %10: i32 = wrap %6
    %11: i32x4 = splat %10
    %13: f32x4 = shuffle %7, %7 [4, 0, 1, 2]
    %14: i32x4 = shuffle %8, -1 [4, 0, 1, 2]
    %15: maskx4 = less %7, %9
    %16: maskx4 = not_equal %9, %9
    %17: maskx4 = equal %7, %7
    %18: maskx4 = and %16, %17
    %19: maskx4 = or %15, %18
    %21: maskx4 = equal %8, 2147483647
    %22: maskx4 = or %19, %21
    %23: maskx4 = less %13, %9
    %24: maskx4 = not_equal %9, %9
    %25: maskx4 = equal %13, %13
    %26: maskx4 = and %24, %25
    %27: maskx4 = or %23, %26
    %29: maskx4 = equal %14, 2147483647
    %30: maskx4 = or %27, %29
    %31: maskx4 = equal %14, -1
    %32: maskx4 = not %31
    %33: maskx4 = and %30, %32
    %34: f32x4 = select %33, %13, %9
    %35: f32x4 = select %22, %34, %7
    %36: i32x4 = select %33, %14, %11
    %37: i32x4 = select %22, %36, %8
    yield %35, %37
  }
  %104: f32x4, %105: i32x4 = for %42 in 3..19 step 8 carry %43 = %38, %44 = %39 {
    %45: f32x8 = load input[%42]
    %46: f32 = extract %43, 2
    %47: f32x8 = splat %46
    %48: maskx8 = less %47, %45
    %49: maskx8 = not_equal %45, %45
    %50: maskx8 = equal %47, %47
    %51: maskx8 = and %49, %50
    %52: maskx8 = or %48, %51
    %53: i32x8 = mask_to_integer %52
    %54: i32 = horizontal_max %53
    %56: mask = not_equal %54, 0
    %102: f32x4, %103: i32x4 = if %56 {
      %58: i64 = add %42, 8
      %100: f32x4, %101: i32x4 = for %59 in %42..%58 step 1 carry %60 = %43, %61 = %44 {
        %62: f32 = load input[%59]
        %63: f32 = extract %60, 2
        %64: mask = less %63, %62
        %65: mask = not_equal %62, %62
        %66: mask = equal %63, %63
        %67: mask = and %65, %66
        %68: mask = or %64, %67
        %98: f32x4, %99: i32x4 = if %68 {
          %69: f32x4 = load_splat input[%59]
          %70: i32 = wrap %59
          %71: i32x4 = splat %70
          %73: f32x4 = shuffle %60, %60 [4, 0, 1, 2]
          %74: i32x4 = shuffle %61, -1 [4, 0, 1, 2]
          %75: maskx4 = less %60, %69
          %76: maskx4 = not_equal %69, %69
          %77: maskx4 = equal %60, %60
          %78: maskx4 = and %76, %77
          %79: maskx4 = or %75, %78
          %81: maskx4 = equal %61, 2147483647
          %82: maskx4 = or %79, %81
          %83: maskx4 = less %73, %69
          %84: maskx4 = not_equal %69, %69
          %85: maskx4 = equal %73, %73
          %86: maskx4 = and %84, %85
          %87: maskx4 = or %83, %86
          %89: maskx4 = equal %74, 2147483647
          %90: maskx4 = or %87, %89
          %91: maskx4 = equal %74, -1
          %92: maskx4 = not %91
          %93: maskx4 = and %90, %92
          %94: f32x4 = select %93, %73, %69
          %95: f32x4 = select %82, %94, %60
          %96: i32x4 = select %93, %74, %71
          %97: i32x4 = select %82, %96, %61
          yield %95, %97
        } else {
          yield %60, %61
        }
        yield %98, %99
      }
      yield %100, %101
    } else {
      yield %43, %44
    }
    yield %102, %103
  }
  %149: f32x4, %150: i32x4 = for %108 in 19..20 step 1 carry %109 = %104, %110 = %105 {
    %111: f32 = load input[%108]
    %112: f32 = extract %109, 2
    %113: mask = less %112, %111
    %114: mask = not_equal %111, %111
    %115: mask = equal %112, %112
    %116: mask = and %114, %115
    %117: mask = or %113, %116
    %147: f32x4, %148: i32x4 = if %117 {
      %118: f32x4 = load_splat input[%108]
      %119: i32 = wrap %108
      %120: i32x4 = splat %119
      %122: f32x4 = shuffle %109, %109 [4, 0, 1, 2]
      %123: i32x4 = shuffle %110, -1 [4, 0, 1, 2]
      %124: maskx4 = less %109, %118
      %125: maskx4 = not_equal %118, %118
      %126: maskx4 = equal %109, %109
      %127: maskx4 = and %125, %126
      %128: maskx4 = or %124, %127
      %130: maskx4 = equal %110, 2147483647
      %131: maskx4 = or %128, %130
      %132: maskx4 = less %122, %118
      %133: maskx4 = not_equal %118, %118
      %134: maskx4 = equal %122, %122
      %135: maskx4 = and %133, %134
      %136: maskx4 = or %132, %135
      %138: maskx4 = equal %123, 2147483647
      %139: maskx4 = or %136, %138
      %140: maskx4 = equal %123, -1
      %141: maskx4 = not %140
      %142: maskx4 = and %139, %141
      %143: f32x4 = select %142, %122, %118
      %144: f32x4 = select %131, %143, %109
      %145: i32x4 = select %142, %123, %120
      %146: i32x4 = select %131, %145, %110
      yield %144, %146
    } else {
      yield %109, %110
    }
    yield %147, %148
  }
  store values[0], %149 active 3
  store positions[0], %150 active 3
}
