; The position of the largest element of a row.
;! kernels = x86-64-v3
func @main(v0: f32[2, 20]) {
  v1 = arg_reduce v0 { search = max, axis = 1, element = i32 }
  return v1
}
method "main" = @main {
  input "0"
  output "0"
}
;! ---
; x86-64-v3: search along a dimension, 8 at a time
kernel @arg_reduce(lane_numbers: input i32[8] align 4, input: input f32[40] align 4, output: output i32[2] align 4) {
  %1: i32x8 = load lane_numbers[0]
  for each %4 in 0..2 step 1 {
    %6: i64 = mul %4, 20
    %7: f32x8 = load_splat input[%6]
    %26: f32x8, %27: i32x8 = for %11 in 0..16 step 8 carry %12 = %7, %13 = 0 {
      %14: i64 = add %6, %11
      %15: f32x8 = load input[%14]
      %16: i32 = wrap %11
      %17: i32x8 = splat %16
      %18: i32x8 = add %17, %1
      %19: maskx8 = less %12, %15
      %20: maskx8 = equal %15, %15
      %21: maskx8 = not_equal %12, %12
      %22: maskx8 = and %20, %21
      %23: maskx8 = or %19, %22
      %24: f32x8 = select %23, %15, %12
      %25: i32x8 = select %23, %18, %13
      yield %24, %25
    }
    %29: i64 = add %6, 12
    %30: f32x8 = load input[%29]
    %31: i32 = wrap 12: i64
    %32: i32x8 = splat %31
    %33: i32x8 = add %32, %1
    %34: maskx8 = less %26, %30
    %35: maskx8 = equal %30, %30
    %36: maskx8 = not_equal %26, %26
    %37: maskx8 = and %35, %36
    %38: maskx8 = or %34, %37
    %39: f32x8 = select %38, %30, %26
    %40: i32x8 = select %38, %33, %27
    %42: maskx8 = not_equal %39, %39
    %44: f32x8 = select %42, -inf, %39
    %45: f32 = horizontal_max %44
    %46: f32x8 = splat %45
    %47: maskx8 = less %44, %46
    %48: maskx8 = equal %46, %46
    %49: maskx8 = not_equal %44, %44
    %50: maskx8 = and %48, %49
    %51: maskx8 = or %47, %50
    %52: maskx8 = or %51, %42
    %53: i32x8 = select %52, 2147483647, %40
    %54: i32 = horizontal_min %53
    %57: mask = equal %54, 2147483647
    %58: i32 = select %57, 0, %54
    store output[%4], %58
  }
}
